import assert from 'node:assert/strict';
import { test } from 'node:test';
import { classifyFailureWord, isSuccessWord, readTaskState } from './untrusted-json.ts';

test('case, tense and separators of a status word do not matter', () => {
  for (const word of ['Success', 'SUCCEED', 'succeeded', 'Done', ' COMPLETED ', 'finished', 'JOB_STATE_SUCCEEDED'])
    assert.equal(readTaskState(word), 'SUCCESS', word);
  for (const word of ['FAILED', 'Fail', 'failure', 'CANCELED', 'Cancelled', 'timed out', 'Expired', 'error'])
    assert.equal(readTaskState(word), 'FAILURE', word);
  for (const word of ['IN_QUEUE', 'InQueue', 'Pending', 'queueing']) assert.equal(readTaskState(word), 'QUEUED', word);
  for (const word of ['InProgress', 'in-progress', 'RUNNING', 'generating', 'TASK_STATUS_PROCESSING'])
    assert.equal(readTaskState(word), 'IN_PROGRESS', word);
  for (const word of ['initializing', 'starting', 'preprocessing', 'CANCELING', 'cancelling'])
    assert.ok(['SUBMITTED', 'IN_PROGRESS'].includes(readTaskState(word)), word);
  for (const word of ['', 'weird', 'constructor', 7, null, {}]) assert.equal(readTaskState(word), 'UNKNOWN');
});

test("a vendor's own meaning takes precedence", () => {
  assert.equal(readTaskState('Unknown', { unknown: 'FAILURE' }), 'FAILURE');
  assert.equal(readTaskState('submitted', { submitted: 'QUEUED' }), 'QUEUED');
});

test('some failure words imply a reason', () => {
  assert.equal(classifyFailureWord('CANCELED')?.cause, 'cancelled');
  assert.equal(classifyFailureWord('expired')?.cause, 'expired');
  assert.equal(classifyFailureWord('blocked')?.reason, 'policy');
  assert.equal(classifyFailureWord('failed'), undefined);
  assert.ok(isSuccessWord('SUCCEED') && !isSuccessWord('processing'));
});
