-- Makes the next statement of the transaction read jobs along an index, from the position where it starts. With old statistics, as after many inserts,
-- the planner would read and sort the whole table for each part. These settings only raise the cost of other plans; without jit = off, a high cost
-- would make the server compile the statement, which takes half a second.
select set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true),
    set_config('jit', 'off', true)
