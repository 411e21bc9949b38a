import type { Transaction } from 'kysely';
import type { Static } from 'typebox';
import type { changeModel, makeModel } from '../../contract/model-catalog.ts';
import type { ModelKind } from '../../contract/models.ts';
import type { Page } from '../../contract/schemas.ts';
import type { Audit } from '../accounts/audit.ts';
import type { Clock } from '../platform/clock.ts';
import { AppError, invalid, notExist } from '../platform/errors.ts';
import type { Tables } from '../tables.ts';
import type { Actor } from './admin.ts';
import type { ChannelVendor } from './channels.ts';
import { assertMediaSchema } from './media-schema-rules.ts';
import { readPrice } from './price-rules.ts';
import type { ChannelStore, ModelRow } from './store.ts';

type NewModel = Static<(typeof makeModel)['body']>;
type ModelChange = Static<(typeof changeModel)['body']>;
type Trx = Transaction<Tables>;

export interface ModelAdminParts {
  readonly store: ChannelStore;
  readonly clock: Clock;
  readonly audit: Audit;
}

export interface ModelFilter {
  readonly vendor?: ChannelVendor;
  readonly kind?: ModelKind;
  /** Part of the name. */
  readonly part?: string;
}

/** What administrators do with models and prices. */
export class ModelAdmin {
  readonly #parts: ModelAdminParts;
  constructor(parts: ModelAdminParts) {
    this.#parts = parts;
  }

  async list(filter: ModelFilter, { offset, pageSize }: Page): Promise<{ rows: ModelRow[]; total: number }> {
    const part = filter.part?.toLowerCase() ?? '';
    const rows = (await this.#parts.store.models()).filter(
      (row) =>
        (filter.vendor === undefined || row.vendor === filter.vendor) &&
        (filter.kind === undefined || row.kind === filter.kind) &&
        row.id.toLowerCase().includes(part),
    );
    return { rows: rows.slice(offset, offset + pageSize), total: rows.length };
  }

  async get(id: string): Promise<ModelRow> {
    return existing(await this.#parts.store.model(id));
  }

  async create(actor: Actor, wanted: NewModel): Promise<string> {
    const { store, clock, audit } = this.#parts;
    const aliasOf = wanted.alias_of || null;
    const schema = schemaText(wanted.input_schema);
    await store.change(async (trx) => {
      const target = aliasOf === null ? undefined : await this.#target(trx, wanted.id, aliasOf);
      const vendor = wanted.vendor ?? target?.vendor;
      const kind = wanted.kind ?? target?.kind;
      if (vendor === undefined) throw invalid('vendor is required.', 'vendor');
      if (kind === undefined) throw invalid('kind is required.', 'kind');
      if (wanted.price === undefined && target === undefined) throw invalid('price is required.', 'price');
      const now = clock.now();
      const row: ModelRow = {
        id: wanted.id,
        vendor,
        kind,
        price: wanted.price === undefined ? null : JSON.stringify(readPrice(wanted.price, kind)),
        alias_of: aliasOf,
        input_schema: schema,
        enabled: wanted.enabled === false ? 0 : 1,
        created_at: now,
        updated_at: now,
      };
      assertWhole(row, target);
      if (!(await store.addModel(trx, row))) throw new AppError('already_exists', { params: { what: 'model' } });
      await audit.record(trx, { ...actor, action: 'model.create', target: `model:${row.id}`, after: told(row) });
    });
    return wanted.id;
  }

  async update(actor: Actor, id: string, change: ModelChange): Promise<void> {
    const { store, clock, audit } = this.#parts;
    const schema = change.input_schema === undefined ? undefined : schemaText(change.input_schema);
    await store.change(async (trx) => {
      const before = existing(await store.model(id, trx));
      if (change.id !== undefined && change.id !== id)
        throw invalid('The name of a model cannot change: tasks and books refer to it. Add an alias.', 'id');
      const aliasOf = change.alias_of === undefined ? before.alias_of : change.alias_of || null;
      const target = aliasOf === null ? undefined : await this.#target(trx, id, aliasOf);
      const kind = change.kind ?? before.kind;
      const price = change.price === undefined ? before.price && JSON.parse(before.price) : change.price;
      const after: ModelRow = {
        ...before,
        vendor: change.vendor ?? before.vendor,
        kind,
        price: price === null ? null : JSON.stringify(readPrice(price, kind)),
        alias_of: aliasOf,
        input_schema: schema === undefined ? before.input_schema : schema,
        enabled: change.enabled === undefined ? before.enabled : change.enabled ? 1 : 0,
        updated_at: clock.now(),
      };
      assertWhole(after, target);
      await this.#assertAliasesFit(trx, after);
      const { id: _id, ...values } = after;
      await store.setModel(trx, id, values);
      await audit.record(trx, {
        ...actor,
        action: 'model.update',
        target: `model:${id}`,
        before: told(before),
        after: told(after),
      });
    });
  }

  async remove(actor: Actor, id: string): Promise<void> {
    const { store, audit } = this.#parts;
    await store.change(async (trx) => {
      const before = existing(await store.model(id, trx));
      const alias = (await store.models(trx)).find((row) => row.alias_of === id);
      const channel = (await store.channels(trx)).find((row) => (JSON.parse(row.models) as string[]).includes(id));
      const user = alias === undefined ? channel?.name : alias.id;
      if (user !== undefined) throw new AppError('model_in_use', { params: { model: id, user } });
      await store.removeModel(trx, id);
      await audit.record(trx, { ...actor, action: 'model.delete', target: `model:${id}`, before: told(before) });
    });
  }

  /** The row an alias points to. One step only, so neither end may be in the middle of a chain, and no circle can be closed. */
  async #target(trx: Trx, id: string, aliasOf: string): Promise<ModelRow> {
    const { store } = this.#parts;
    if (aliasOf === id) throw invalid('A model cannot be an alias of itself.', 'alias_of');
    const target = await store.model(aliasOf, trx);
    if (target === undefined) throw invalid(`There is no model ${aliasOf} to stand for.`, 'alias_of');
    if (target.alias_of !== null)
      throw invalid(`${aliasOf} is an alias itself, of ${target.alias_of}; name that one.`, 'alias_of');
    const alias = (await store.models(trx)).find((row) => row.alias_of === id);
    if (alias !== undefined)
      throw invalid(`${alias.id} is an alias of ${id}, which so cannot become one itself.`, 'alias_of');
    return target;
  }

  async #assertAliasesFit(trx: Trx, target: ModelRow): Promise<void> {
    const aliases = (await this.#parts.store.models(trx)).filter((row) => row.alias_of === target.id);
    for (const alias of aliases) assertWhole(alias, target);
  }
}

function existing(row: ModelRow | undefined): ModelRow {
  if (row === undefined) throw notExist('model');
  return row;
}

function assertWhole(row: ModelRow, target: ModelRow | undefined): void {
  if (target !== undefined && target.kind !== row.kind)
    throw invalid(`${row.id} makes ${row.kind}, ${target.id} makes ${target.kind}.`, 'kind');
  if (target === undefined && row.price === null) throw invalid('price is required.', 'price');
}

/** Checks a media schema, outside of any transaction as this takes its time. */
function schemaText(schema: NewModel['input_schema']): string | null {
  if (schema === undefined || schema === null) return null;
  assertMediaSchema(schema);
  return JSON.stringify(schema);
}

/** What the audit log keeps of a model. */
function told({ created_at: _created, updated_at: _updated, ...row }: ModelRow) {
  return {
    ...row,
    price: row.price === null ? null : JSON.parse(row.price),
    input_schema: row.input_schema === null ? null : JSON.parse(row.input_schema),
    enabled: row.enabled === 1,
  };
}
