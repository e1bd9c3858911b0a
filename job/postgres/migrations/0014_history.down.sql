drop table meanwhile.past, meanwhile.audit;
