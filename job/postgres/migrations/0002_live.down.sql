drop table meanwhile.stats, meanwhile.orders, meanwhile.watches;
