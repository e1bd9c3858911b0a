insert into meanwhile.counts (unfinished, completed, canceled, discarded, queue, kind)
select * from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[])
