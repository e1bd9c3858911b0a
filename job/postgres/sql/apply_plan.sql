-- Makes the next statement of the transaction find jobs along an index, from where it begins. With old statistics, as after many inserts, the planner
-- would read and sort the whole table for each part. To forbid other plans only by a high cost would make the server compile the statement, which
-- takes half a second.
select set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true),
    set_config('jit', 'off', true)
