import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FAILURES_EN } from '../../contract/messages/failures-en.ts';
import { FAILURES_ZH_CN } from '../../contract/messages/failures-zh-cn.ts';
import { FAILURE_CAUSES } from '../../contract/task-states.ts';
import { ERROR_REASONS } from '../upstreams/upstream.ts';
import { ERROR_CLASSES as HAILUO } from '../vendors/hailuo/adapter.ts';
import { ERROR_CLASSES as JIMENG } from '../vendors/jimeng/adapter.ts';
import { ERROR_CLASSES as KLING } from '../vendors/kling/adapter.ts';
import { FAILURES as RUNWAY } from '../vendors/runway/adapter.ts';
import { ERROR_CLASSES as SEEDANCE } from '../vendors/seedance/adapter.ts';
import { VIDU_ERROR_CLASSES as VIDU } from '../vendors/vidu/adapter.ts';
import { ERROR_CLASSES as WAN } from '../vendors/wan/adapter.ts';
import { causeOf, toFailure } from './task-store.ts';

const CLASSES = { HAILUO, JIMENG, KLING, RUNWAY, SEEDANCE, VIDU, WAN };

test('every vendor error code has a cause other than "unknown"', () => {
  for (const [vendor, classes] of Object.entries(CLASSES))
    for (const [code, meaning] of Object.entries(classes)) {
      if (code === 'Conflict') continue;
      assert.notEqual(causeOf(meaning), 'unknown', `${vendor} ${code}`);
    }
});

test('error codes decide whether the vendor or the request is at fault', () => {
  const causes = [
    HAILUO[1026],
    HAILUO[1027],
    JIMENG[50411],
    JIMENG[50518],
    JIMENG[50521],
    KLING[1301],
    KLING[1303],
    KLING[1102],
    SEEDANCE.InputTextSensitiveContentDetected,
    SEEDANCE.OutputVideoSensitiveContentDetected,
    VIDU.ImageCheckFaceFailed,
    WAN.InvalidURL,
  ].map((meaning) => meaning && causeOf(meaning));
  assert.deepEqual(causes, [
    'content_refused',
    'result_refused',
    'picture_refused',
    'copyright_refused',
    'vendor_check_down',
    'content_refused',
    'vendor_busy',
    'account_trouble',
    'prompt_refused',
    'result_refused',
    'picture_unsuitable',
    'picture_unreadable',
  ]);
});

test('every reason has a cause, and every cause has a text and advice in both languages', () => {
  for (const reason of ERROR_REASONS) assert.ok(FAILURE_CAUSES.includes(causeOf({ reason })), reason);
  for (const texts of [FAILURES_EN, FAILURES_ZH_CN])
    for (const cause of FAILURE_CAUSES) {
      assert.ok(texts[cause].text.length > 5, cause);
      assert.ok(texts[cause].advice.length > 5, cause);
    }
});

test('a failure without a vendor message still has a text', () => {
  assert.deepEqual(toFailure(undefined), { cause: 'unknown', message: 'the vendor gave no reason', code: '' });
});
