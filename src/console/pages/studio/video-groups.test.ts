import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Video } from '../../data/videos.ts';
import { groupBySubmit } from './video-groups.ts';

const video = (task_id: string, prompt: string, submit_time: number): Video =>
  ({ task_id, prompt, submit_time }) as unknown as Video;

test('videos of one submit form a group; the same prompt minutes later does not', () => {
  const groups = groupBySubmit([
    video('e', 'fox', 1_000),
    video('d', 'fox', 999),
    video('c', 'owl', 998),
    video('b', 'fox', 700),
    video('a', 'fox', 300),
  ]);
  assert.deepEqual(
    groups.map((group) => group.map(({ task_id }) => task_id)),
    [['e', 'd'], ['c'], ['b'], ['a']],
  );
});

test('a group has at most four videos, as many as one submit generates', () => {
  const groups = groupBySubmit(['f', 'e', 'd', 'c', 'b', 'a'].map((id) => video(id, 'fox', 10)));
  assert.deepEqual(
    groups.map((group) => group.length),
    [4, 2],
  );
});
