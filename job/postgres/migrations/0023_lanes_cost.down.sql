drop function meanwhile.lanes_put(text, text[], smallint[], bigint[], timestamptz[], timestamptz[], boolean[], timestamptz[], int[]);
drop function meanwhile.lanes_give(text, int, text[], int[], timestamptz, text, bigint, text[], bigint);
create or replace function meanwhile.lanes_read(text, text[], timestamptz, boolean, int) returns table (
    key text, priority int, turn bigint, free timestamptz, running bigint, due int, next timestamptz, queued boolean
) language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set enable_material = off as $$
#variable_conflict use_column
declare
    keys text[] := $2;
    ordered boolean := coalesce((select q.limits::jsonb #>> '{each_key,in_order}' from meanwhile.queues q where q.queue = $1) = 'true', false);
begin
    if keys is null then
        with gone as (
            delete from meanwhile.touched where ctid = any (array(
                select t.ctid from meanwhile.touched t where t.queue = $1 limit 5 * $5 for update skip locked
            )) returning key, queued
        )
        select array_agg(k.key) into keys from (
            select g.key from (select key, bool_or(queued) queued from gone group by key) g
            where g.queued or exists (select from meanwhile.lanes l where l.queue = $1 and l.key = g.key and l.priority = 0)
            union
            (select key from meanwhile.lanes where queue = $1 and wake <= $3 order by wake limit $5)
            union
            select ''
        ) k;
    end if;
    return query
    select k.key, coalesce(l.priority, 0)::int, coalesce(l.turn, 0), l.free,
        case when $4 and k.key <> '' then (
            select count(*) from meanwhile.running r where r.queue = $1 and r.limit_key is not null and r.limit_key = k.key
        ) else 0 end,
        case when l.held > $3 then 0 else d.priority end, case when l.held > $3 then l.held else d.next end, d.queued
    from unnest(keys) k(key)
        left join lateral (
            select l.priority, l.turn, l.free, l.held from meanwhile.lanes l where l.queue = $1 and l.key = k.key collate "C" limit 1
        ) l on true
        cross join lateral (
            select count(*) n, coalesce(max(f.priority) filter (where f.run_at <= $3), 0)::int due, min(f.run_at) filter (where f.run_at > $3) next
            from (
                select j.priority, j.run_at from meanwhile.queued j
                where not ordered and j.queue = $1 and j.limit_key is not null and j.limit_key = k.key
                order by j.priority desc, j.run_at desc, j.id desc limit 4
            ) f
        ) few
        cross join lateral (
            select few.due as priority, few.next, few.n > 0 as queued where (few.n < 4 or few.due > 0) and k.key <> '' and not ordered
            union all
            select * from meanwhile.lane_due($1, k.key, $3) where few.n = 4 and few.due = 0 and not ordered or k.key = ''
            union all
            select case when f.run_at <= $3 and not f.held then f.priority::int else 0 end,
                case when f.run_at > $3 and not f.held then f.run_at end, f.run_at is not null
            from (select 1) one left join lateral (
                select j.priority, j.run_at, exists (
                    select from meanwhile.holders h
                    where h.queue = $1 and h.key = k.key and (h.created, h.id) < (j.created, j.id)
                ) held
                from meanwhile.queued j
                where j.queue = $1 and j.limit_key <> '' and j.limit_key = k.key
                order by j.created, j.id limit 1
            ) f on true
            where ordered and k.key <> ''
        ) d;
end $$;

drop function meanwhile.claim_keyless(text, int, text, bigint, bigint, timestamptz[], uuid[], text[], timestamptz, bigint);
drop function meanwhile.lanes_begin(bigint, bigint, text, interval, text, int);
drop function meanwhile.has_lanes(text);
drop function meanwhile.settle_keyed(bigint, uuid[], int, text);
drop function meanwhile.insert_noted(uuid[], text[], timestamptz[], interval[], smallint[], int[], text[], text[], text[], interval[], text[],
    bigint[], bigint[], bigint[], bigint[], text[], text[]);
drop trigger queued_touch on meanwhile.queued;
drop trigger running_touch on meanwhile.running;
create trigger queued_touch after insert or update of queue, priority, run_at on meanwhile.queued
    for each row when (new.limit_key is not null) execute function meanwhile.touch();
create trigger running_touch after delete on meanwhile.running
    for each row when (old.limit_key is not null) execute function meanwhile.touch();
insert into meanwhile.touched (queue, key, queued) select queue, unnest(keys), queued from meanwhile.noted;
drop table meanwhile.noted;
drop trigger queues_most on meanwhile.queues;
drop function meanwhile.forget_most();
alter table meanwhile.queues drop column most, drop column claims;
