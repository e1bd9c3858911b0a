-- readable from 29
-- Queued jobs are found by their unique key also where another has taken it over, so that unique_keys does not name them any more. Those that run are
-- few enough to be read, and are written more often.
create index queued_unique on meanwhile.queued (unique_key, id) where unique_key is not null;
