create or replace function meanwhile.begin_claim(bigint, bigint, bigint, text, interval) returns boolean
language plpgsql set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    alive boolean;
    since bigint;
begin
    perform pg_advisory_xact_lock($1);
    select s.lease_until > now(), s.from_call into alive, since from meanwhile.sessions s where s.session = $1;
    if since > $2 then
        return false;
    end if;
    if alive is not true then
        insert into meanwhile.sessions (session, worker, lease_until) values ($1, $4, now() + $5)
        on conflict (session) do update set lease_until = excluded.lease_until;
    end if;
    if $3 > 0 then
        update meanwhile.sessions set from_call = $2 where session = $1;
    end if;
    return true;
end $$;
