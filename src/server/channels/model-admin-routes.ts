import type { Static } from 'typebox';
import * as endpoints from '../../contract/admin-models-and-usable-models.ts';
import { parseSort } from '../../contract/list-sorting.ts';
import { done, list, ok, toPage } from '../../contract/success-bodies-and-pagination.ts';
import { toSeconds } from '../../contract/time-units.ts';
import { toActor } from '../platform/http/request-context.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import type { Catalog } from './channel-and-model-catalog.ts';
import type { ModelRow } from './channel-and-model-store.ts';
import type { ChannelSelectionService } from './channel-selection-service.ts';
import type { ModelAdminService } from './model-admin-service.ts';

/** Models and prices, for administrators. */
export function addModelAdminRoutes(
  routes: RouteRegistry,
  { models, channels }: { readonly models: ModelAdminService; readonly channels: ChannelSelectionService },
): void {
  routes.add(endpoints.listModelRows, async ({ query }) => {
    const { vendor, kind, q } = query;
    const { rows, total } = await models.list({ vendor, kind, nameContains: q }, toPage(query), parseSort(query.sort));
    const catalog = await channels.catalog();
    return list(
      rows.map((row) => toRow(row, catalog)),
      total,
    );
  });

  routes.add(endpoints.adminCreateModel, async ({ body, caller, request }) =>
    ok({ id: await models.create(toActor(caller, request), body) }),
  );

  routes.add(endpoints.getModelRow, async ({ params }) =>
    ok(toRow(await models.get(decodeModelId(params)), await channels.catalog())),
  );

  routes.add(endpoints.adminUpdateModel, async ({ params, body, caller, request }) => {
    await models.update(toActor(caller, request), decodeModelId(params), body);
    return done();
  });

  routes.add(endpoints.adminDeleteModel, async ({ params, caller, request }) => {
    await models.remove(toActor(caller, request), decodeModelId(params));
    return done();
  });
}

/** An encoded slash is refused in paths, so the slash of a name is sent as `~`. */
const decodeModelId = ({ id }: { readonly id: string }): string => id.replaceAll('~', '/');

function toRow(row: ModelRow, catalog: Catalog): Static<typeof endpoints.ModelRow> {
  const resolved = catalog.models.get(row.id);
  return {
    id: row.id,
    vendor: row.vendor,
    kind: row.kind,
    price: row.price === null ? null : JSON.parse(row.price),
    alias_of: row.alias_of,
    input_schema: row.input_schema === null ? null : JSON.parse(row.input_schema),
    on_retirement: row.on_retirement,
    enabled: row.enabled === 1,
    channels: resolved === undefined ? 0 : catalog.serving(resolved).length,
    created_time: toSeconds(row.created_at),
    updated_time: toSeconds(row.updated_at),
  };
}
