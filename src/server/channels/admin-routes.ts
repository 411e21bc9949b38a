import type { Static } from 'typebox';
import * as lines from '../../contract/channels.ts';
import { done, list, ok, toPage } from '../../contract/schemas.ts';
import type { AccountCaller } from '../platform/http/caller.ts';
import type { RequestContext } from '../platform/http/request-context.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Actor, ChannelAdmin, ChannelView, OpenTasks } from './admin.ts';
import type { Catalog } from './catalog.ts';
import { type ProbeParts, probeChannel } from './probes.ts';
import type { ChannelService } from './service.ts';

export interface ChannelAdminRouteParts extends Omit<ProbeParts, 'channels'> {
  readonly channels: ChannelService;
  readonly admin: ChannelAdmin;
  readonly tasks: Pick<OpenTasks, 'unfinishedByChannel'>;
}

/** Upstream accounts, for administrators. */
export function addChannelAdminRoutes(routes: Routes, parts: ChannelAdminRouteParts): void {
  const { channels, admin, tasks } = parts;
  const shown = async (views: readonly ChannelView[]) => {
    const [catalog, unfinished] = await Promise.all([channels.catalog(), tasks.unfinishedByChannel()]);
    return views.map((view) => toRow(view, catalog, unfinished.get(view.id) ?? 0, channels.stateOf(view.id)));
  };

  routes.add(lines.listChannels, async ({ query }) => {
    const { vendor, model, enabled } = query;
    const { rows, total } = await admin.list(
      {
        ...(vendor === undefined ? {} : { vendor }),
        ...(model === undefined ? {} : { model }),
        ...(enabled === undefined ? {} : { enabled: enabled === 'true' }),
      },
      toPage(query),
    );
    return list(await shown(rows), total);
  });

  routes.add(lines.makeChannel, async ({ body, caller, request }) =>
    ok({ id: await admin.create(actorOf(caller, request), body) }),
  );

  routes.add(lines.getChannel, async ({ params }) => {
    const id = Number(params.id);
    const [row] = await shown([await admin.get(id)]);
    const { health, errors } = await channels.condition(id);
    return ok({
      ...(row as Static<typeof lines.ChannelRow>),
      health: health.map(({ model, state, reason, failureRate, restsUntil }) => ({
        model,
        state,
        reason,
        failure_rate: Math.round(failureRate * 1000) / 1000,
        rests_until: toSeconds(restsUntil),
      })),
      last_errors: errors.map(({ model, reason, code, message, created_at }) => ({
        model,
        reason,
        code,
        message,
        time: toSeconds(created_at),
      })),
    });
  });

  routes.add(lines.changeChannel, async ({ params, body, caller, request }) => {
    // Nobody is shown what is stored; to have it sent somewhere new would be to be shown it.
    await admin.update(actorOf(caller, request), Number(params.id), body, caller.role === 'root');
    return done();
  });

  routes.add(lines.removeChannel, async ({ params, caller, request }) => {
    await admin.remove(actorOf(caller, request), Number(params.id));
    return done();
  });

  routes.add(lines.testChannel, async ({ params }) => {
    const report = await probeChannel(parts, Number(params.id));
    const { ok: works, durationMs, reason, code, message, models } = report;
    return ok({ ok: works, duration_ms: durationMs, reason, code, message, models: [...models] });
  });
}

export const actorOf = (caller: AccountCaller, { address, id }: RequestContext): Actor => ({
  actorId: caller.userId,
  address,
  requestId: id,
});

export const toSeconds = (unixMs: number): number => Math.floor(unixMs / 1000);

function toRow(
  view: ChannelView,
  catalog: Catalog,
  unfinished: number,
  state: Static<typeof lines.ChannelRow>['state'],
): Static<typeof lines.ChannelRow> {
  return {
    id: view.id,
    name: view.name,
    vendor: view.vendor,
    base_url: view.baseUrl,
    credential_keys: [...view.credentialKeys],
    models: [...view.models],
    unserved_models: view.models.filter((model) => catalog.models.get(model)?.vendor !== view.vendor),
    priority: view.priority,
    weight: view.weight,
    enabled: view.enabled,
    options: view.options,
    state,
    unfinished_tasks: unfinished,
    created_time: toSeconds(view.createdAt),
    updated_time: toSeconds(view.updatedAt),
  };
}
