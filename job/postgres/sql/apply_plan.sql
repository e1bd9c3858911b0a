-- Has the next statement of the transaction find jobs along an index, from where it begins: with statistics that are old, as they are
-- after many inserts, the whole table would be read and sorted for each part. What is set aside by a high cost would make the server
-- compile the statement, which takes half a second.
select set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true),
    set_config('jit', 'off', true)
