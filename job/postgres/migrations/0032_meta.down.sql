create or replace function meanwhile.list_finished(text[], text[], text[], uuid, uuid, int, text, timestamptz, text[], text, text[]) returns setof uuid
language plpgsql stable set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set jit = off set random_page_cost = 0 set seq_page_cost = 0
set cpu_operator_cost = 1 as $$
#variable_conflict use_column
begin
    return query
    select f.id
    from unnest($1, $2, $3) c(queue, kind, state) cross join lateral (
        select id from meanwhile.finished l
        where state = 'completed' and queue = c.queue collate "C" and kind = c.kind collate "C" and id >= $4 and id < $5
            and ($7 is null and $8 is null and $9 is null and $10 is null and $11 is null or exists (
                select from meanwhile.finished w where w.id = l.id and ($7 is null or w.worker = $7)
                    and ($8 is null or w.finished < $8) and ($9 is null or strpos(w.args, '\') > 0 or w.args like all ($9))
                    and ($10 is null or lower(w.detail) like $10)
                    and ($11 is null or not exists (select from unnest($11) m where coalesce(strpos(w.options, m), 0) = 0))
            ))
        order by id desc
        limit $6
    ) f
    where c.state = 'completed'
    union all
    select f.id
    from unnest($1, $2, $3) c(queue, kind, state) cross join lateral (
        select id from meanwhile.finished l
        where state <> 'completed' and queue = c.queue collate "C" and kind = c.kind collate "C" and state = c.state collate "C"
            and id >= $4 and id < $5
            and ($7 is null and $8 is null and $9 is null and $10 is null and $11 is null or exists (
                select from meanwhile.finished w where w.id = l.id and ($7 is null or w.worker = $7)
                    and ($8 is null or w.finished < $8) and ($9 is null or strpos(w.args, '\') > 0 or w.args like all ($9))
                    and ($10 is null or lower(w.detail) like $10)
                    and ($11 is null or not exists (select from unnest($11) m where coalesce(strpos(w.options, m), 0) = 0))
            ))
        order by id desc
        limit $6
    ) f
    where c.state <> 'completed';
end $$;
