-- readable from 9
-- As before, but lanes that are open by a higher priority come by their turns as well, and among the others: which of them came was left to the plan, so
-- that with claims of some kinds a key could be passed over.
create or replace function meanwhile.lanes_open(text, int, bigint, bigint, int, boolean, boolean, timestamptz) returns table (
    key text, priority int, turn bigint, free timestamptz, running bigint
) language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
    ordered boolean := coalesce((select q.limits::jsonb #>> '{each_key,in_order}' from meanwhile.queues q where q.queue = $1) = 'true', false);
begin
    return query
    select o.key, p.p, o.turn, o.free, case when $6 and o.key <> '' then (
        select count(*) from meanwhile.running r where r.queue = $1 and r.limit_key is not null and r.limit_key = o.key
    ) else 0 end
    from generate_series($2, 1, -1) p(p) cross join lateral (
        select * from (
            (
                select l.key, l.turn, l.free from meanwhile.lanes l
                where l.queue = $1 and l.priority = p.p::smallint and l.priority > 0 and (p.p < $2 or l.turn > $3 and l.turn <= $4)
                order by l.turn limit $5
            )
            union all
            select a.* from (values (9), (8), (7), (6), (5), (4), (3), (2)) h(h) cross join lateral (
                select l.key, l.turn, l.free from meanwhile.lanes l
                where $7 and h.h > p.p and (l.key = '' or not ordered) and l.queue = $1 and l.priority = h.h::smallint and l.priority > 0
                    and (p.p < $2 or l.turn > $3 and l.turn <= $4)
                    and case when l.key = '' then (
                        select true from meanwhile.queued j
                        where j.queue = $1 and j.limit_key is null and j.priority = p.p::smallint and j.run_at <= $8
                        limit 1
                    ) else (
                        select true from meanwhile.queued j
                        where j.queue = $1 and j.limit_key is not null and j.limit_key = l.key and j.priority = p.p::smallint
                            and j.run_at <= $8
                        limit 1
                    ) end
                order by l.turn limit $5
            ) a
        ) u order by u.turn limit $5
    ) o
    limit $5;
end $$;
