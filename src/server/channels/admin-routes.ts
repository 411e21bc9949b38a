import type { Static } from 'typebox';
import * as endpoints from '../../contract/channels.ts';
import { parseSort } from '../../contract/list-sorting.ts';
import { done, list, ok, toPage } from '../../contract/success-bodies-and-pagination.ts';
import { toSeconds } from '../../contract/time-units.ts';
import { toActor } from '../platform/http/request-context.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import type { ChannelAdminService, UnfinishedCount, UnfinishedTasks } from './channel-admin-service.ts';
import type { Catalog } from './channel-and-model-catalog.ts';
import { CHANNEL_PRESETS, modelListOf, type Preset } from './channel-presets.ts';
import { type ProbeDependencies, probeChannel } from './channel-probe.ts';
import type { ChannelSelectionService } from './channel-selection-service.ts';
import type { ChannelView, CredentialView } from './channel-view.ts';
import type { CredentialHealth } from './credential-health-from-circuit-breakers.ts';

export interface ChannelAdminRouteDependencies extends Omit<ProbeDependencies, 'channels'> {
  readonly channels: ChannelSelectionService;
  readonly admin: ChannelAdminService;
  readonly tasks: Pick<UnfinishedTasks, 'unfinished'>;
}

/** Upstream accounts, for administrators. */
export function addChannelAdminRoutes(routes: RouteRegistry, dependencies: ChannelAdminRouteDependencies): void {
  const { channels, admin, tasks } = dependencies;
  const toRows = async (views: readonly ChannelView[]) => {
    const [catalog, unfinished] = await Promise.all([channels.catalog(), tasks.unfinished()]);
    return views.map((view) => {
      const open = unfinished.filter(({ channelId }) => channelId === view.id);
      return toRow(view, catalog, open, {
        state: HEALTH[channels.stateOf(view.id)],
        condition: channels.conditionOf(view.id),
        credentials: channels.credentialHealth(view.id),
      });
    });
  };

  routes.add(endpoints.listChannels, async ({ query }) => {
    const { vendor, model, enabled } = query;
    const { rows, total } = await admin.list(
      { vendor, model, enabled: enabled === undefined ? undefined : enabled === 'true' },
      toPage(query),
      parseSort(query.sort),
    );
    return list(await toRows(rows), total);
  });

  routes.add(endpoints.makeChannel, async ({ body, caller, request }) =>
    ok({ id: await admin.create(toActor(caller, request), caller.role, body) }),
  );

  routes.add(endpoints.getChannel, async ({ params }) => {
    const id = Number(params.id);
    const [row] = await toRows([await admin.get(id)]);
    const { health, errors } = await channels.condition(id);
    return ok({
      ...(row as Static<typeof endpoints.ChannelRow>),
      health: health.map(({ model, state, reason, failureRate, openUntil }) => ({
        model,
        state: HEALTH[state],
        reason,
        failure_rate: Math.round(failureRate * 1000) / 1000,
        rests_until: toSeconds(openUntil),
      })),
      last_errors: errors.map(({ credential_id, model, reason, code, message, created_at }) => ({
        credential_id,
        model,
        reason,
        code,
        message,
        time: toSeconds(created_at),
      })),
    });
  });

  routes.add(endpoints.changeChannel, async ({ params, body, caller, request }) => {
    await admin.update(toActor(caller, request), caller.role, Number(params.id), body);
    return done();
  });

  routes.add(endpoints.removeChannel, async ({ params, caller, request }) => {
    await admin.remove(toActor(caller, request), Number(params.id));
    return done();
  });

  addChannelTest(routes, dependencies);
}

function addChannelTest(routes: RouteRegistry, dependencies: ChannelAdminRouteDependencies): void {
  routes.add(endpoints.testChannel, async ({ params, query }) => {
    const credentialId = query.credential_id === undefined ? undefined : Number(query.credential_id);
    const report = await probeChannel(dependencies, Number(params.id), credentialId);
    const suggested = report.ok ? await dependencies.admin.suggestModels(Number(params.id), report.models) : [];
    const { ok: works, durationMs, reason, code, message, models, missing, ending } = report;
    return ok({
      ok: works,
      duration_ms: durationMs,
      reason,
      code,
      message,
      models: [...models],
      missing_models: [...missing],
      ending_models: ending.map(({ model, retiresOn, successor, confirmedOn }) => ({
        model,
        retires_on: retiresOn,
        successor: successor ?? null,
        confirmed: confirmedOn !== null,
      })),
      suggested_models: suggested.map((model) => ({ ...model })),
    });
  });

  routes.add(endpoints.addChannelModels, async ({ params, body, caller, request }) =>
    ok(await dependencies.admin.addModels(toActor(caller, request), caller.role, Number(params.id), body.ids)),
  );

  routes.add(endpoints.listChannelPresets, async () => ok(CHANNEL_PRESETS.map(toPresetRow)));
}

const toPresetRow = (preset: Preset): Static<typeof endpoints.ChannelPreset> => ({
  id: preset.id,
  title: preset.title,
  title_zh: preset.titleZh ?? preset.title,
  dialect: preset.dialect,
  base_url: preset.baseUrl,
  key_page: preset.keyPage,
  model_list: modelListOf(preset),
  options: { ...preset.options },
  deviations: preset.deviations.map((text) => ({ ...text })),
});

/** Words of the contract for the states of a circuit. */
const HEALTH = { closed: 'healthy', open: 'resting', halfOpen: 'trying' } as const;

type CredentialRow = Static<typeof endpoints.ChannelRow>['credential_list'][number];

/** @param health undefined: nothing is known of it yet */
function toCredentialRow(
  { id, name, hint, keys, enabled }: CredentialView,
  health: CredentialHealth | undefined,
): Omit<CredentialRow, 'unfinished_tasks'> {
  const worst = health?.views.find(({ state }) => state === health.state && state !== 'closed');
  return {
    id,
    name,
    hint,
    keys: [...keys],
    enabled,
    state: HEALTH[health?.state ?? 'closed'],
    condition: health?.condition ?? 'untested',
    reason: worst?.reason ?? '',
    rests_until: toSeconds(worst?.openUntil ?? 0),
  };
}

function toRow(
  view: ChannelView,
  catalog: Catalog,
  unfinished: readonly UnfinishedCount[],
  {
    credentials: health,
    ...best
  }: Pick<Static<typeof endpoints.ChannelRow>, 'state' | 'condition'> & {
    readonly credentials: readonly CredentialHealth[];
  },
): Static<typeof endpoints.ChannelRow> {
  const total = (counts: readonly UnfinishedCount[]): number => counts.reduce((sum, { count }) => sum + count, 0);
  return {
    id: view.id,
    name: view.name,
    vendor: view.vendor,
    base_url: view.baseUrl,
    model_mapping: view.modelMapping ?? {},
    extra_header_names: [...view.extraHeaderNames],
    proxy: view.proxy ?? '',
    credential_keys: [...(view.credentials[0]?.keys ?? [])],
    credential_list: view.credentials.map((credential) => ({
      ...toCredentialRow(
        credential,
        health.find(({ credentialId }) => credentialId === credential.id),
      ),
      unfinished_tasks: total(unfinished.filter(({ credentialId }) => credentialId === credential.id)),
    })),
    models: [...view.models],
    unserved_models: view.models.filter((model) => catalog.models.get(model)?.vendor !== view.vendor),
    priority: view.priority,
    weight: view.weight,
    enabled: view.enabled,
    options: view.options,
    ...best,
    unfinished_tasks: total(unfinished),
    created_time: toSeconds(view.createdAt),
    updated_time: toSeconds(view.updatedAt),
  };
}
