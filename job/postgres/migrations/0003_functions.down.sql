drop function meanwhile.claim, meanwhile.settle_alike, meanwhile.insert_alike;
