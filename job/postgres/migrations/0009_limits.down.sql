drop trigger queued_touch on meanwhile.queued;
drop trigger running_touch on meanwhile.running;
drop function meanwhile.touch();
drop function meanwhile.lanes_take(text, int, text[], int[], timestamptz, text, bigint, text[], bigint);
drop function meanwhile.lanes_open(text, int, bigint, bigint, int, boolean, boolean, timestamptz);
drop function meanwhile.lanes_read(text, text[], timestamptz, boolean, int);
drop function meanwhile.lane_due(text, text, timestamptz);
drop table meanwhile.touched;
drop table meanwhile.lanes;
alter table meanwhile.queues drop column limits, drop column turn, drop column free;
alter table meanwhile.queues reset (fillfactor, autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold);
drop index meanwhile.queued_due;
alter table meanwhile.queued drop column limit_key;
alter table meanwhile.running drop column limit_key;
create index queued_due on meanwhile.queued (queue, priority, run_at, id);

create or replace function meanwhile.claim(text[], int[], int, text, interval, timestamptz[], uuid[], text[], bigint, bigint) returns table (
    id uuid, run_at timestamptz, created timestamptz, started timestamptz, unique_for interval, priority smallint,
    attempt int, spared int, died int, max_attempts int, queue text, kind text, worker text, unique_key text, args text,
    detail text, options text, next interval
) language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off as $$
#variable_conflict use_column
begin
    if not meanwhile.begin_claim($9, $10, 0, $4, $5) then
        return;
    end if;
    return query
    with wanted as materialized (
        select w.queue, w.lim, w.n
        from unnest($1::text[], $2::int[]) with ordinality w(queue, lim, n)
        where w.lim > 0 and not exists (select from meanwhile.queues q where q.queue = w.queue collate "C" and q.paused)
    ), moved as (
        delete from meanwhile.queued where ctid = any (array(
            select due.ctid
            from wanted w cross join lateral (
                select r.ctid
                from generate_series(9, 1, -1) p cross join lateral (
                    select ctid from meanwhile.queued q
                    where q.queue = w.queue collate "C" and q.priority = p::smallint and q.run_at <= now()
                        and (q.run_at, q.id) > (($6::timestamptz[])[w.n * 9 - p + 1], ($7::uuid[])[w.n * 9 - p + 1])
                        and ($8 is null or q.kind = any ($8))
                    order by q.run_at, q.id
                    limit w.lim
                    for update skip locked
                ) r
                limit w.lim
            ) due
            limit $3
        ))
        returning *
    ), claimed as (
        insert into meanwhile.running (id, run_at, created, started, unique_for, priority, attempt, spared, died, max_attempts,
            queue, kind, worker, unique_key, args, detail, session, call, options)
        select id, run_at, created, now(), unique_for, priority, attempt + 1, spared, died, max_attempts, queue, kind, $4,
            unique_key, args, detail, $9, $10, options
        from moved
        on conflict (id) do nothing
        returning *
    )
    select c.id, c.run_at, c.created, c.started, c.unique_for, c.priority, c.attempt, c.spared, c.died, c.max_attempts,
        c.queue, c.kind, c.worker, c.unique_key, c.args, c.detail, c.options,
        n.next
    from (
        select case when (select count(*) from moved) < $3 then (
            select min(d.run_at) - now()
            from wanted w cross join generate_series(9, 1, -1) p cross join lateral (
                select q.run_at from meanwhile.queued q
                where q.queue = w.queue collate "C" and q.priority = p::smallint and q.run_at > now()
                order by q.run_at, q.id
                limit 1
            ) d
        ) end as next
    ) n left join claimed c on true;
end $$;
