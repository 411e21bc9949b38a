import { asObject } from '../../contract/objects.ts';
import { invalidRequest } from '../platform/app-error.ts';
import type { VendorAdapter, VideoRequest } from '../vendors/adapter.ts';
import type { InputOwner } from './input-resolver.ts';
import { parseTerms } from './task-completion.ts';
import type { Task, TaskStore } from './task-store.ts';

/** A finished draft, and what a request for its final video takes from it. */
export interface FoundDraft {
  readonly task: Task;
  readonly request: Required<Pick<VideoRequest, 'sourceHandle' | 'draft'>>;
}

interface DraftSearch {
  readonly metadata: VideoRequest['metadata'];
  readonly owner: InputOwner;
  readonly adapter: Pick<VendorAdapter, 'name' | 'drafts'>;
  readonly model: string;
  /** Unix milliseconds. */
  readonly now: number;
}

/**
 * Finds the draft that `metadata` names.
 * @returns undefined if it names none
 * @throws AppError for one that cannot be made final, before anything is reserved
 */
export async function findDraft(
  store: Pick<TaskStore, 'findForToken' | 'findForUser'>,
  { metadata, owner: { userId, tokenId }, adapter, model, now }: DraftSearch,
): Promise<FoundDraft | undefined> {
  const { drafts } = adapter;
  const id = drafts?.idIn(metadata);
  if (drafts === undefined || id === undefined) return undefined;
  const task = await (tokenId === undefined ? store.findForUser(id, userId) : store.findForToken(id, tokenId));
  const isDraft = task?.vendor === adapter.name && drafts.isDraft(asObject(JSON.parse(task.request))?.metadata);
  if (task === undefined || !isDraft || task.status !== 'SUCCESS' || task.handle === null)
    throw invalidRequest('metadata.draft_task names no finished draft of yours.', 'metadata.draft_task');
  if (task.model !== model)
    throw invalidRequest(`model must be ${task.model}: the draft was generated with it.`, 'model');
  if (now >= task.finish_time + drafts.lifetimeMs)
    throw invalidRequest('metadata.draft_task names a draft that has expired.', 'metadata.draft_task');
  const facts = parseTerms(task.pricing)?.facts ?? {};
  const draft = { seconds: Number(facts.seconds ?? 0), hasVideo: facts.input_video === 'true' };
  return { task, request: { sourceHandle: JSON.parse(task.handle), draft } };
}
