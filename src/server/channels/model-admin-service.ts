import type { Static } from 'typebox';
import type { adminCreateModel, adminUpdateModel, MODEL_SORTS } from '../../contract/admin-models-and-usable-models.ts';
import { type Sort, sortRowsBy } from '../../contract/list-sorting.ts';
import type { ModelKind } from '../../contract/model-kinds-and-id.ts';
import type { Page } from '../../contract/success-bodies-and-pagination.ts';
import type { AuditLog } from '../accounts/audit/audit-log-types.ts';
import { AppError, invalidRequest, notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Actor } from '../platform/http/request-context.ts';
import type { Trx } from '../tables.ts';
import { assertMediaSchema } from './assert-media-schema.ts';
import type { ChannelAndModelStore, ModelRow } from './channel-and-model-store.ts';
import type { ChannelVendor } from './channel-directory-types.ts';
import { parsePrice } from './price-parser.ts';

type NewModel = Static<(typeof adminCreateModel)['body']>;
type ModelChange = Static<(typeof adminUpdateModel)['body']>;

export interface ModelAdminDependencies {
  readonly store: ChannelAndModelStore;
  readonly clock: Clock;
  readonly audit: AuditLog;
}

export interface ModelFilter {
  readonly vendor?: ChannelVendor | undefined;
  readonly kind?: ModelKind | undefined;
  readonly nameContains?: string | undefined;
}

type ModelSort = Sort<(typeof MODEL_SORTS)[number]>;

/** What administrators do with models and prices. */
export class ModelAdminService {
  readonly #dependencies: ModelAdminDependencies;
  constructor(parts: ModelAdminDependencies) {
    this.#dependencies = parts;
  }

  async list(
    filter: ModelFilter,
    { offset, pageSize }: Page,
    sort?: ModelSort,
  ): Promise<{ rows: ModelRow[]; total: number }> {
    const part = filter.nameContains?.toLowerCase() ?? '';
    const byName = (await this.#dependencies.store.models()).filter(
      (row) =>
        (filter.vendor === undefined || row.vendor === filter.vendor) &&
        (filter.kind === undefined || row.kind === filter.kind) &&
        row.id.toLowerCase().includes(part),
    );
    const rows =
      sort === undefined
        ? byName
        : sortRowsBy(byName, sort.descending, (row) => row[sort.key === 'name' ? 'id' : sort.key]);
    return { rows: rows.slice(offset, offset + pageSize), total: rows.length };
  }

  async get(id: string): Promise<ModelRow> {
    return requireModel(await this.#dependencies.store.model(id));
  }

  async create(actor: Actor, input: NewModel): Promise<string> {
    const { store, clock, audit } = this.#dependencies;
    const aliasOf = input.alias_of || null;
    const schema = toSchemaText(input.input_schema);
    await store.change(async (trx) => {
      const target = aliasOf === null ? undefined : await this.#requireAliasTarget(trx, input.id, aliasOf);
      const vendor = input.vendor ?? target?.vendor;
      const kind = input.kind ?? target?.kind;
      if (vendor === undefined) throw invalidRequest('vendor is required.', 'vendor');
      if (kind === undefined) throw invalidRequest('kind is required.', 'kind');
      if (input.price === undefined && target === undefined) throw invalidRequest('price is required.', 'price');
      const now = clock.now();
      const row: ModelRow = {
        id: input.id,
        vendor,
        kind,
        price: input.price === undefined ? null : JSON.stringify(parsePrice(input.price, kind)),
        alias_of: aliasOf,
        input_schema: schema,
        on_retirement: input.on_retirement ?? 'refuse',
        enabled: input.enabled === false ? 0 : 1,
        created_at: now,
        updated_at: now,
      };
      assertConsistent(row, target);
      if (!(await store.addModel(trx, row))) throw new AppError('already_exists', { params: { what: 'model' } });
      await audit.record(trx, {
        ...actor,
        action: 'model.create',
        target: `model:${row.id}`,
        after: toAuditRecord(row),
      });
    });
    return input.id;
  }

  async update(actor: Actor, id: string, change: ModelChange): Promise<void> {
    const { store, clock, audit } = this.#dependencies;
    const schema = change.input_schema === undefined ? undefined : toSchemaText(change.input_schema);
    await store.change(async (trx) => {
      const before = requireModel(await store.model(id, trx));
      if (change.id !== undefined && change.id !== id)
        throw invalidRequest(
          'The name of a model cannot change: tasks and the ledger refer to it. Add an alias.',
          'id',
        );
      const aliasOf = change.alias_of === undefined ? before.alias_of : change.alias_of || null;
      const target = aliasOf === null ? undefined : await this.#requireAliasTarget(trx, id, aliasOf);
      const kind = change.kind ?? before.kind;
      const price = change.price === undefined ? before.price && JSON.parse(before.price) : change.price;
      const after: ModelRow = {
        ...before,
        vendor: change.vendor ?? before.vendor,
        kind,
        price: price === null ? null : JSON.stringify(parsePrice(price, kind)),
        alias_of: aliasOf,
        input_schema: schema === undefined ? before.input_schema : schema,
        on_retirement: change.on_retirement ?? before.on_retirement,
        enabled: change.enabled === undefined ? before.enabled : change.enabled ? 1 : 0,
        updated_at: clock.now(),
      };
      assertConsistent(after, target);
      await this.#assertAliasesFit(trx, after);
      const { id: _id, ...values } = after;
      await store.setModel(trx, id, values);
      await audit.record(trx, {
        ...actor,
        action: 'model.update',
        target: `model:${id}`,
        before: toAuditRecord(before),
        after: toAuditRecord(after),
      });
    });
  }

  async remove(actor: Actor, id: string): Promise<void> {
    const { store, audit } = this.#dependencies;
    await store.change(async (trx) => {
      const before = requireModel(await store.model(id, trx));
      const alias = (await store.models(trx)).find((row) => row.alias_of === id);
      const channel = (await store.channels(trx)).find((row) => (JSON.parse(row.models) as string[]).includes(id));
      const user = alias === undefined ? channel?.name : alias.id;
      if (user !== undefined) throw new AppError('model_in_use', { params: { model: id, user } });
      await store.removeModel(trx, id);
      await audit.record(trx, {
        ...actor,
        action: 'model.delete',
        target: `model:${id}`,
        before: toAuditRecord(before),
      });
    });
  }

  /** The row an alias points to. One step only, so neither end may be in the middle of a chain, and no circle can be closed. */
  async #requireAliasTarget(trx: Trx, id: string, aliasOf: string): Promise<ModelRow> {
    const { store } = this.#dependencies;
    if (aliasOf === id) throw invalidRequest('A model cannot be an alias of itself.', 'alias_of');
    const target = await store.model(aliasOf, trx);
    if (target === undefined) throw invalidRequest(`There is no model ${aliasOf} to stand for.`, 'alias_of');
    if (target.alias_of !== null)
      throw invalidRequest(`${aliasOf} is an alias itself, of ${target.alias_of}; name that one.`, 'alias_of');
    const alias = (await store.models(trx)).find((row) => row.alias_of === id);
    if (alias !== undefined)
      throw invalidRequest(`${alias.id} is an alias of ${id}, which so cannot become one itself.`, 'alias_of');
    return target;
  }

  async #assertAliasesFit(trx: Trx, target: ModelRow): Promise<void> {
    const aliases = (await this.#dependencies.store.models(trx)).filter((row) => row.alias_of === target.id);
    for (const alias of aliases) assertConsistent(alias, target);
  }
}

function requireModel(row: ModelRow | undefined): ModelRow {
  if (row === undefined) throw notExistError('model');
  return row;
}

function assertConsistent(row: ModelRow, target: ModelRow | undefined): void {
  if (target !== undefined && target.kind !== row.kind)
    throw invalidRequest(`${row.id} makes ${row.kind}, ${target.id} makes ${target.kind}.`, 'kind');
  if (target === undefined && row.price === null) throw invalidRequest('price is required.', 'price');
}

/** Checks a media schema, outside of any transaction as this takes its time. */
function toSchemaText(schema: NewModel['input_schema']): string | null {
  if (schema === undefined || schema === null) return null;
  assertMediaSchema(schema);
  return JSON.stringify(schema);
}

/** What the audit log keeps of a model. */
function toAuditRecord({ created_at: _created, updated_at: _updated, ...row }: ModelRow) {
  return {
    ...row,
    price: row.price === null ? null : JSON.parse(row.price),
    input_schema: row.input_schema === null ? null : JSON.parse(row.input_schema),
    enabled: row.enabled === 1,
  };
}
