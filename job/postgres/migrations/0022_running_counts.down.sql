drop function meanwhile.running_counts();
