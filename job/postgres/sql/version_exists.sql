select to_regclass($1) is not null
