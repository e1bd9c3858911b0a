-- Removes the worker $1, the commands for it, and the session $2.
with dropped as (
    delete from meanwhile.orders where worker = $1
), ended as (
    delete from meanwhile.sessions where session = $2
)
delete from meanwhile.workers where worker = $1
