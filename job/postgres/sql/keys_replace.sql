-- Gives the queued job $1 the args $2; it is due at $3, or after the delay $4, or at once.
update meanwhile.queued set args = $2, run_at = coalesce($3::timestamptz, now() + $4::interval, now()) where id = $1::uuid returning id
