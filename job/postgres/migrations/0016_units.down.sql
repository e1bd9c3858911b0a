drop function meanwhile.lanes_cost(text, int, text[], int[], timestamptz, text[]);
alter table meanwhile.lanes drop column paid;
alter table meanwhile.queues drop column paid;
