import type { Artifact } from '../vendors/adapter.ts';
import type { Task } from './task-store.ts';

/** Where the finished video of a task is; undefined before it has finished. */
export const parseTaskArtifact = (task: Pick<Task, 'artifact'>): Artifact | undefined =>
  task.artifact === null ? undefined : JSON.parse(task.artifact);
