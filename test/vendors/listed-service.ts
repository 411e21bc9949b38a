import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadMedia } from '../../src/sandbox/media.ts';
import { ALL_SIMULATORS } from '../../src/sandbox/sandbox.ts';
import { VENDOR_ADAPTERS } from '../../src/server/vendors/registry.ts';
import { ApiCaller } from '../flows/video-fixture.ts';
import { type SandboxService, startSandboxService } from '../service-with-sandbox.ts';
import type { Body, ListedModel, Uploads } from './listed-requests.ts';
import { mp4Of, wavOf } from './media-samples.ts';

/** A service with every listed model, and a caller with uploaded files. */
export interface ListedService extends SandboxService {
  readonly caller: ApiCaller;
  readonly models: readonly ListedModel[];
  readonly uploads: Uploads;
  readonly balance: () => Promise<number>;
  /** Uploads a file; returns its id. */
  readonly upload: (name: string, bytes: Buffer) => Promise<string>;
}

const QUOTA = 1e14;

/** Starts the service with a channel for every simulator and every model it serves. Jobs wait, so that nothing settles. */
export async function startListedService(databaseUrl: string): Promise<ListedService> {
  const folder = mkdtempSync(join(tmpdir(), 'rg-listed-'));
  const service = await startSandboxService(databaseUrl, {
    env: {
      ARTIFACTS: 'disk',
      ARTIFACTS_DIR: folder,
      ARTIFACTS_MIN_FREE_GB: '0',
      ALLOW_HTTP: '1',
      SYNC_PERIOD_SECONDS: '3600',
    },
    sandbox: { timing: { queuedMs: 1e9, runningMs: 1e9 }, keepRequests: 50 },
  });
  for (const { name, vendor = name, models: served = /^/ } of ALL_SIMULATORS) {
    const adapter = VENDOR_ADAPTERS.find((each) => each.name === vendor);
    const ids = (adapter?.models ?? []).map(({ id }) => id).filter((id) => served.test(id));
    if (ids.length > 0) await service.addChannel(name, ids);
  }
  await service.operator.grantQuota(QUOTA);
  const caller = new ApiCaller(service.baseUrl, await service.operator.makeToken());
  const upload = async (name: string, bytes: Buffer): Promise<string> => {
    const form = new FormData();
    form.set('purpose', 'user_data');
    form.set('file', new Blob([new Uint8Array(bytes)]), name);
    const headers = { authorization: `Bearer ${caller.key}` };
    const response = await fetch(`${service.baseUrl}/v1/files`, { method: 'POST', body: form, headers });
    const { id } = (await response.json()) as { id: string };
    assert.equal(response.status, 200, name);
    return id;
  };
  const uploads = {
    image: await upload('a.png', loadMedia('image.png').bytes),
    video: await upload('a.mp4', mp4Of(3)),
    audio: await upload('a.wav', wavOf(3)),
  };
  const { body } = await caller.request('GET', '/v1/videos/models');
  return {
    ...service,
    caller,
    models: body.data as unknown as readonly ListedModel[],
    uploads,
    upload,
    balance: async () => (await service.operator.quota()).quota,
    async stop() {
      await service.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Status, named field and message of a refusal. */
export async function send(caller: ApiCaller, path: string, body: Body) {
  const { status, body: answer } = await caller.request('POST', path, body);
  const error = (answer.error ?? {}) as { readonly message?: string; readonly param?: string | null };
  return { status, answer, message: error.message ?? JSON.stringify(answer), param: error.param ?? '' };
}
