-- Makes every process read the lanes $2 of the queue $1 again.
insert into meanwhile.touched (queue, key) select $1, unnest($2::text[])
