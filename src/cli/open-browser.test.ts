import assert from 'node:assert/strict';
import { it } from 'node:test';
import { openBrowser } from './commands/login.ts';

it('opens only http and https URLs received from a service', async () => {
  const opened: string[] = [];
  const start = (async (address: string) => {
    opened.push(address);
    throw new Error('no browser here');
  }) as unknown as NonNullable<Parameters<typeof openBrowser>[1]>;
  for (const address of [
    'file:///Applications/Calculator.app',
    'smb://evil.example/x',
    'javascript:alert(1)',
    'ms-msdt:/id',
    'vscode://x',
    '-a Calculator',
    '/etc/passwd',
    'evil.example',
    '',
  ])
    await openBrowser(address, start);
  assert.deepEqual(opened, []);
  const pages = ['https://video.example/authorize?code=BCDF-GHJK', 'http://127.0.0.1:3000/authorize'];
  for (const address of pages) await openBrowser(address, start);
  assert.deepEqual(opened, pages);
});
