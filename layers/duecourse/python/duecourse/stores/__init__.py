"""The stores: one class for each kind of item, over the interface of the tables in `stores.table`."""
