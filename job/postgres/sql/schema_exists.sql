select to_regnamespace(quote_ident($1)) is not null
