/** What statements are written with. */
import type postgres from 'postgres';

export type Sql = postgres.Sql<{ bigint: number }>;
export type TransactionSql = postgres.TransactionSql<{ bigint: number }>;
/** What a store function takes when it does not care whether it runs inside a transaction. */
export type AnySql = Sql | TransactionSql;
