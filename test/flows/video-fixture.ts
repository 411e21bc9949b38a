import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { Job } from '../../src/sandbox/jobs.ts';
import { callModelApi } from '../call-model-api.ts';
import { type SandboxService, startSandboxService } from '../service-with-sandbox.ts';
import { CONTRACT_CASES } from '../vendors/load-contract-cases.ts';

/** A JSON object. */
export type Fields = { readonly [key: string]: unknown };

/**
 * A vendor's simulator with a model that generates videos from text alone. Veo has one simulator for each of its two
 * routes.
 */
export interface VendorModel {
  readonly name: string;
  readonly model: string;
}

/** Every vendor by every route. */
export const VENDOR_MODELS: readonly VendorModel[] = CONTRACT_CASES.map(({ simulator, model }) => ({
  name: simulator.name,
  model,
}));

/** Quota of the caller when a test starts. */
export const INITIAL_QUOTA = 1_000_000_000;

/** A caller of the API with a key. */
export class ApiCaller {
  readonly baseUrl: string;
  readonly key: string;
  constructor(baseUrl: string, key: string) {
    this.baseUrl = baseUrl;
    this.key = key;
  }

  request(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    return callModelApi(this.baseUrl, this.key, method, path, body, headers);
  }

  /** The raw response, for files. */
  fetchRaw(
    path: string,
    init: { method?: string; headers?: Record<string, string>; body?: string } = {},
  ): Promise<Response> {
    return fetch(`${this.baseUrl}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${this.key}`, ...init.headers },
    });
  }

  /** Submits a video; a refusal fails the test. */
  async submit(body: Fields, path = '/v1/videos', headers: Record<string, string> = {}): Promise<Fields> {
    const answer = await this.request('POST', path, body, headers);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body;
  }

  async video(id: unknown): Promise<Fields> {
    const { status, body } = await this.request('GET', `/v1/videos/${String(id)}`);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  }

  async unified(id: unknown, path = '/v1/video/generations'): Promise<Fields> {
    const { status, body } = await this.request('GET', `${path}/${String(id)}`);
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(Object.keys(body).sort(), ['code', 'data', 'message']);
    assert.equal(body.code, 'success');
    return body.data as unknown as Fields;
  }

  /** Polls until the video has finished, and returns its final state. */
  async waitUntilEnded(id: unknown): Promise<Fields> {
    for (let attempts = 0; attempts < 300; attempts += 1) {
      const { progress } = await this.unified(id);
      if (progress === '100%') return this.video(id);
      await pause(100);
    }
    return assert.fail(`${String(id)} did not end`);
  }
}

/** Id of a submitted video, in either response format. */
export const idOf = (submitted: Fields): string => String(submitted.id ?? submitted.task_id);

/** The running service with simulated vendors, and helpers for callers of the video API. */
export interface VideoService extends SandboxService {
  readonly caller: ApiCaller;
  /** The simulator's job for a prompt; fails the test unless there is exactly one. */
  job(vendor: string, prompt: string): Job;
}

/** Starts the whole service with one channel per vendor API and a user with credits. */
export async function startVideoService(
  databaseUrl: string,
  options: Parameters<typeof startSandboxService>[1] = {},
  vendors: readonly VendorModel[] = VENDOR_MODELS,
): Promise<VideoService> {
  const running = await startSandboxService(databaseUrl, options);
  for (const { name, model: id } of vendors) await running.addChannel(name, [id]);
  await running.operator.grantQuota(INITIAL_QUOTA);
  const viewer = new ApiCaller(running.baseUrl, await running.operator.makeToken());
  return {
    ...running,
    caller: viewer,
    job(vendor, prompt) {
      const found = running.sandbox.control.jobs(vendor).filter((job) => job.prompt === prompt);
      assert.equal(found.length, 1, `one job of ${vendor} for "${prompt}"`);
      return found[0] as Job;
    },
  };
}
