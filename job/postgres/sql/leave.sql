-- Removes the worker $1, with the orders for it.
with dropped as (
    delete from meanwhile.orders where worker = $1
)
delete from meanwhile.workers where worker = $1
