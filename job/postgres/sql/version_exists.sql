-- Whether the table $1 exists, and settings of the connection, see checkSettings.
select to_regclass($1) is not null, current_setting('default_transaction_isolation'), current_setting('standard_conforming_strings')
