import type { Static } from 'typebox';
import * as lines from '../../contract/model-catalog.ts';
import { done, list, ok, toPage } from '../../contract/schemas.ts';
import type { Routes } from '../platform/http/routes.ts';
import { actorOf, toSeconds } from './admin-routes.ts';
import type { Catalog } from './catalog.ts';
import type { ModelAdmin } from './model-admin.ts';
import type { ChannelService } from './service.ts';
import type { ModelRow } from './store.ts';

/** Models and prices, for administrators. */
export function addModelAdminRoutes(
  routes: Routes,
  { models, channels }: { readonly models: ModelAdmin; readonly channels: ChannelService },
): void {
  routes.add(lines.listModelRows, async ({ query }) => {
    const { vendor, kind, q } = query;
    const { rows, total } = await models.list(
      {
        ...(vendor === undefined ? {} : { vendor }),
        ...(kind === undefined ? {} : { kind }),
        ...(q === undefined ? {} : { part: q }),
      },
      toPage(query),
    );
    const catalog = await channels.catalog();
    return list(
      rows.map((row) => toRow(row, catalog)),
      total,
    );
  });

  routes.add(lines.makeModel, async ({ body, caller, request }) =>
    ok({ id: await models.create(actorOf(caller, request), body) }),
  );

  routes.add(lines.getModelRow, async ({ params }) =>
    ok(toRow(await models.get(nameIn(params)), await channels.catalog())),
  );

  routes.add(lines.changeModel, async ({ params, body, caller, request }) => {
    await models.update(actorOf(caller, request), nameIn(params), body);
    return done();
  });

  routes.add(lines.removeModel, async ({ params, caller, request }) => {
    await models.remove(actorOf(caller, request), nameIn(params));
    return done();
  });
}

/** An encoded slash is refused at the door, so a name's slash travels as `~`. */
const nameIn = ({ id }: { readonly id: string }): string => id.replaceAll('~', '/');

function toRow(row: ModelRow, catalog: Catalog): Static<typeof lines.ModelRow> {
  const resolved = catalog.models.get(row.id);
  return {
    id: row.id,
    vendor: row.vendor,
    kind: row.kind,
    price: row.price === null ? null : JSON.parse(row.price),
    alias_of: row.alias_of,
    input_schema: row.input_schema === null ? null : JSON.parse(row.input_schema),
    enabled: row.enabled === 1,
    channels: resolved === undefined ? 0 : catalog.serving(resolved).length,
    created_time: toSeconds(row.created_at),
    updated_time: toSeconds(row.updated_at),
  };
}
