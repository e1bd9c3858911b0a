drop function meanwhile.settle_strict(bigint, uuid[], int, text);
drop function meanwhile.claim_strict(text[], int[], int, text, interval, timestamptz[], uuid[], text[], bigint, bigint);
