import type { Json } from '../../vendors/adapter.ts';
import type { VendorRegistry } from '../../vendors/registry.ts';
import type { SubmitResult } from '../submit/submitted-task-and-vendor-response.ts';
import type { Task } from '../task-store.ts';
import { toCompleteVideo, toSubmitResponse, toVideoListItem, toVideoObject } from './openai-video-responses.ts';
import { toUnifiedTask } from './unified-task-response.ts';

/** Renders tasks in the formats of the contract, by the presentation rules of their vendors. */
export class TaskRenderer {
  readonly #vendors: VendorRegistry;
  readonly #baseUrl: string;

  /** @param baseUrl the service's own, for URLs of content */
  constructor(vendors: VendorRegistry, baseUrl: string) {
    this.#vendors = vendors;
    this.#baseUrl = baseUrl;
  }

  submitted(submitted: SubmitResult): Json {
    return toSubmitResponse(submitted, this.#vendors.get(submitted.task.vendor));
  }

  unified(task: Task) {
    const contentUrl = `${this.#baseUrl}/v1/videos/${encodeURIComponent(task.public_id)}/content`;
    return {
      code: 'success' as const,
      message: '',
      data: toUnifiedTask(task, contentUrl, this.#vendors.get(task.vendor)),
    };
  }

  video(task: Task): Json {
    return toVideoObject(task, this.#vendors.get(task.vendor));
  }

  /** OpenAI's complete object, for its own clients. */
  complete(task: Task, remixedFrom: string | undefined): Json {
    return toCompleteVideo(task, this.#vendors.get(task.vendor), remixedFrom);
  }

  listItem(task: Task): Json {
    return toVideoListItem(task, this.#vendors.get(task.vendor));
  }
}
