import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { Job } from '../../src/sandbox/jobs.ts';
import { model } from '../operator.ts';
import { type Running, startRunning } from '../running.ts';

export type Fields = { readonly [key: string]: unknown };

/** One way to one vendor: its simulator and a model it makes videos with from words alone. */
export interface Door {
  readonly name: string;
  /** The contract's letter. */
  readonly letter: 'A' | 'B' | 'C' | 'D' | 'E' | 'F' | 'G' | 'H';
  readonly model: string;
}

/** All eight vendors; the sixth by both of its doors. */
export const DOORS: readonly Door[] = [
  { name: 'kling', letter: 'A', model: 'kling-v1-6' },
  { name: 'jimeng', letter: 'B', model: 'jimeng_v30' },
  { name: 'hailuo', letter: 'C', model: 'MiniMax-Hailuo-02' },
  { name: 'seedance', letter: 'D', model: 'doubao-seedance-1-5-pro-251215' },
  { name: 'wan', letter: 'E', model: 'wan2.5-t2v-preview' },
  { name: 'veo', letter: 'F', model: 'veo-3.1-generate-preview' },
  { name: 'veo-vertex', letter: 'F', model: 'veo-3.1-generate-001' },
  { name: 'vidu', letter: 'G', model: 'viduq1' },
  { name: 'sora', letter: 'H', model: 'sora-2' },
];

export const GIVEN = 1_000_000_000;

/** Somebody with a key who makes videos. */
export class Viewer {
  readonly baseUrl: string;
  readonly key: string;
  constructor(baseUrl: string, key: string) {
    this.baseUrl = baseUrl;
    this.key = key;
  }

  ask(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    return model(this.baseUrl, this.key, method, path, body, headers);
  }

  /** The answer as it is, for files. */
  raw(
    path: string,
    init: { method?: string; headers?: Record<string, string>; body?: string } = {},
  ): Promise<Response> {
    return fetch(`${this.baseUrl}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${this.key}`, ...init.headers },
    });
  }

  /** Submits; a refusal fails the test. */
  async submit(body: Fields, path = '/v1/videos', headers: Record<string, string> = {}): Promise<Fields> {
    const answer = await this.ask('POST', path, body, headers);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body;
  }

  async video(id: unknown): Promise<Fields> {
    const { status, body } = await this.ask('GET', `/v1/videos/${String(id)}`);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  }

  async unified(id: unknown, path = '/v1/video/generations'): Promise<Fields> {
    const { status, body } = await this.ask('GET', `${path}/${String(id)}`);
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(Object.keys(body).sort(), ['code', 'data', 'message']);
    assert.equal(body.code, 'success');
    return body.data as unknown as Fields;
  }

  /** Looks until the video has ended, and answers its last state. */
  async ended(id: unknown): Promise<Fields> {
    for (let looks = 0; looks < 300; looks += 1) {
      const { progress } = await this.unified(id);
      if (progress === '100%') return this.video(id);
      await pause(100);
    }
    return assert.fail(`${String(id)} did not end`);
  }
}

export const idOf = (submitted: Fields): string => String(submitted.id ?? submitted.task_id);

export interface VideoService extends Running {
  readonly viewer: Viewer;
  /** The job a prompt began at a simulator; one that is not there, or is there twice, fails the test. */
  job(door: string, prompt: string): Job;
}

/** The whole service with one channel per door and a viewer who can pay. */
export async function startVideoService(
  databaseUrl: string,
  options: Parameters<typeof startRunning>[1] = {},
  doors: readonly Door[] = DOORS,
): Promise<VideoService> {
  const running = await startRunning(databaseUrl, options);
  for (const { name, model: id } of doors) await running.addChannel(name, [id]);
  await running.operator.grant(GIVEN);
  const viewer = new Viewer(running.baseUrl, await running.operator.makeToken());
  return {
    ...running,
    viewer,
    job(door, prompt) {
      const found = running.sandbox.control.jobs(door).filter((job) => job.prompt === prompt);
      assert.equal(found.length, 1, `one job of ${door} for "${prompt}"`);
      return found[0] as Job;
    },
  };
}
