-- readable from 9
-- How many jobs run, by queue and kind. The table has few rows at a time, and as many pages as it ever needed: where millions have run, reading
-- it whole takes longer than anything else on a page of the dashboard. Its primary key leads to the rows alone, and is what this walks along.
create function meanwhile.running_counts() returns table (queue text, kind text, n bigint)
language plpgsql stable rows 100 set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off as $$
#variable_conflict use_column
begin
    return query
    select queue, kind, count(*) from meanwhile.running
    where id >= '00000000-0000-0000-0000-000000000000' group by queue, kind;
end $$;
