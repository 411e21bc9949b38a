import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { PASSWORD } from '../accounts/test-user-client.ts';
import {
  authenticate,
  type BrowserFixture,
  type ContextOptions,
  openBrowserFixture,
  waitForContent,
  waitForExpression,
} from './browser-fixture.ts';
import { chromiumPath } from './chromium.ts';
import { STRINGS } from './console-strings.ts';
import { assertAccessible } from './find-accessibility-issues.ts';

const { studio, files } = STRINGS.en;
const named = (text: string, name: string): string => text.replace('{{name}}', name);
/** A green PNG of 64 × 36 pixels. */
const IMAGE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAEAAAAAkCAIAAAC2bqvFAAAAS0lEQVR42u3PQREAAAQAMF9RtBBWDfcdFmB1TT6LEhAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBC4WyjSEZBK7yqgAAAAAElFTkSuQmCC',
  'base64',
);

/** Drops PNG images on the heading of the page, as a user does anywhere on it. */
async function dropImages(page: Page, names: readonly string[]): Promise<void> {
  await page.locator('h1').first().waitFor({ state: 'attached' });
  await page.evaluate(`(async () => {
    const data = new DataTransfer();
    for (const name of ${JSON.stringify(names)}) {
      const canvas = new OffscreenCanvas(640, 360);
      const context = canvas.getContext('2d');
      context.fillStyle = 'hsl(' + name.length * 40 + ' 60% 50%)';
      context.fillRect(0, 0, 640, 360);
      data.items.add(new File([await canvas.convertToBlob({ type: 'image/png' })], name, { type: 'image/png' }));
    }
    const options = { dataTransfer: data, bubbles: true, cancelable: true };
    document.querySelector('h1').dispatchEvent(new DragEvent('drop', options));
  })()`);
}

/** Types of the top-level boxes of an MP4 file, which must fill it. */
function boxTypesOf(file: Buffer): readonly string[] {
  const types: string[] = [];
  let at = 0;
  for (; at + 8 <= file.length; at += Math.max(8, file.readUInt32BE(at)))
    types.push(file.toString('latin1', at + 4, at + 8));
  assert.equal(at, file.length, 'the boxes fill the file');
  return types;
}

describe('inputs of the studio and files', { skip: chromiumPath === undefined && !process.env.CI }, () => {
  let fixture: BrowserFixture;
  let folder: string;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'reelgate-inputs-'));
    fixture = await openBrowserFixture({ ARTIFACTS: 'disk', ARTIFACTS_DIR: folder, ARTIFACTS_MIN_FREE_GB: '0' });
  });
  after(async () => {
    await fixture.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const open = async (username: string, options: ContextOptions = {}) => {
    const person = await fixture.running.signUp(username);
    await fixture.running.root.ok('PUT', `/api/admin/users/${person.id}`, { quota_delta: 50_000_000, note: 'start' });
    const page = await fixture.open(options);
    await authenticate(page, username, PASSWORD);
    return { page, person };
  };
  const role = (page: Page, name: string) => page.getByRole('combobox', { name: named(studio.roleOf, name) });
  const rolesOf = async (page: Page): Promise<unknown> =>
    page.evaluate(`[...document.querySelectorAll('.inputs select')].map(({ value }) => value)`);
  const namesOf = async (page: Page): Promise<unknown> =>
    page.evaluate(
      `[...document.querySelectorAll('.input-row')].map((row) => row.querySelector('[title]').getAttribute('title'))`,
    );
  const price = /^Generate video · [\d.]+ credits$/;

  it('gives dropped images roles, reorders them by keyboard, and sends them by id and role', async () => {
    const { page, person } = await open('director');
    await page.goto('/studio?model=kling-v3-omni');
    await page.locator('#prompt').fill('Runs over the bridge');
    assert.match((await page.locator('[data-takes]').textContent()) ?? '', /^1 first frame, .*images up to 10 MB/);
    await dropImages(page, ['a.png', 'bb.png']);
    await role(page, 'bb.png').waitFor();
    assert.deepEqual(await rolesOf(page), ['first_frame', 'last_frame']);
    await dropImages(page, ['ccc.png']);
    await role(page, 'ccc.png').waitFor();
    assert.deepEqual(await rolesOf(page), ['reference', 'reference', 'reference']);

    await page.locator('[data-handle]').last().focus();
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowUp');
    assert.deepEqual(await namesOf(page), ['ccc.png', 'a.png', 'bb.png']);
    assert.match((await page.evaluate('document.activeElement.ariaLabel')) as string, /ccc\.png: position 1 of 3/);
    await page.getByRole('button', { name: named(studio.moveUp, 'bb.png') }).click();
    assert.deepEqual(await namesOf(page), ['ccc.png', 'bb.png', 'a.png']);
    await page.getByRole('button', { name: '@Image2', exact: true }).click();
    assert.equal(await page.locator('#prompt').inputValue(), 'Runs over the bridge @Image2 ');
    await page.getByRole('button', { name: named(studio.removeInput, 'a.png') }).click();
    await assertAccessible(page, 'inputs with roles');

    await page.getByRole('button', { name: price }).waitFor();
    await page.reload();
    await role(page, 'bb.png').waitFor();
    assert.deepEqual(await namesOf(page), ['ccc.png', 'bb.png'], 'a reload keeps the inputs and their order');
    await page.getByRole('button', { name: price }).click();
    await page.getByRole('article').locator('video').waitFor();
    const [video] = await person.ok<{ task_id: string }[]>('GET', '/api/videos');
    const { request } = await person.ok<{ request: { inputs: { role: string; file_id: string }[] } }>(
      'GET',
      `/api/videos/${video?.task_id}`,
    );
    assert.deepEqual(
      request.inputs.map((input) => [input.role, input.file_id.startsWith('file-')]),
      [
        ['reference', true],
        ['reference', true],
      ],
    );
    await page.context().close();
  });

  it('keeps inputs when the model changes, and explains at each input what the new one cannot use', async () => {
    const { page } = await open('switcher');
    await page.goto('/studio?model=kling-v3-omni');
    await page.locator('#prompt').fill('A duel');
    await dropImages(page, ['a.png', 'bb.png', 'ccc.png']);
    await page.getByRole('button', { name: price }).waitFor();
    await page.goto('/studio?model=kling-v1');
    await page
      .getByText(/Not used as Reference by this model/)
      .nth(2)
      .waitFor();
    assert.equal(await page.locator('#generate').isDisabled(), true);
    await page.getByText(studio.inputsUnfit).waitFor();
    await role(page, 'a.png').selectOption('first_frame');
    await role(page, 'bb.png').selectOption('first_frame');
    await page.getByText(/^Too many: the model takes 1 first frame/).waitFor();
    await role(page, 'bb.png').selectOption('last_frame');
    await page.getByRole('button', { name: named(studio.removeInput, 'ccc.png') }).click();
    await page.getByRole('button', { name: price }).waitFor();
    await page.getByRole('button', { name: named(studio.removeInput, 'a.png') }).click();
    await page.getByText('Add: 1 first frame.').waitFor();
    await assertAccessible(page, 'inputs with a problem');
    await page.context().close();
  });

  it('resumes an upload after the connection was lost, and cancels one', async () => {
    const { page } = await open('commuter');
    await page.goto('/studio?model=kling-v3-omni');
    await page.locator('#prompt').fill('A train');
    await page.route('**/api/files', (route) => route.abort());
    await dropImages(page, ['a.png', 'bb.png']);
    await page.getByText(STRINGS.en.app.uploadInterrupted).nth(1).waitFor();
    assert.equal(await page.locator('#generate').isDisabled(), true, 'a video is not started without its inputs');
    await page.unroute('**/api/files');
    await page.getByRole('button', { name: named(studio.removeInput, 'bb.png') }).click();
    await page.getByRole('button', { name: studio.uploadAgain }).click();
    await page.getByRole('button', { name: price }).waitFor();
    assert.deepEqual(await namesOf(page), ['a.png']);
    await page.context().close();
  });

  it('edits and extends a video with a model that can, for the price on the button, and links the versions', async () => {
    const { page, person } = await open('editor');
    await page.goto('/studio?model=kling-v1');
    await page.locator('#prompt').fill('A harbour at noon');
    await page.getByRole('button', { name: price }).click();
    const stage = page.getByRole('article', { name: 'A harbour at noon' });
    await stage.locator('video').waitFor();
    await stage.getByRole('button', { name: studio.operations.edit, exact: true }).click();
    const notice = page.getByText(/^Kling 1\.0 cannot edit videos\. .+ is selected/);
    await notice.waitFor();
    await waitForExpression(page, `document.activeElement.id === 'prompt'`);
    await page.locator('.inputs select').first().waitFor();
    assert.deepEqual(await rolesOf(page), ['source']);
    await page.getByRole('button', { name: new RegExp(`^${studio.model}: `) }).click();
    const options = page.getByRole('dialog').getByRole('option');
    await options.first().waitFor();
    for (const text of await options.allTextContents()) assert.match(text, /1 source video/);
    await page.keyboard.press('Escape');
    await page.locator('#prompt').fill('Make it night');
    const button = page.getByRole('button', { name: price });
    await button.waitFor();
    const shown = /[\d.]+(?= credits)/.exec((await button.textContent()) ?? '')?.[0];
    const quota = async () => (await person.ok<{ used_quota: number }>('GET', '/api/user/self')).used_quota;
    const before = await quota();
    await button.click();
    await page.getByRole('article', { name: 'Make it night' }).locator('video[controls]').waitFor();
    assert.equal(await notice.count(), 0, 'a notice about a form ends with its submit');
    assert.equal((((await quota()) - before) / 500_000).toFixed(2), shown);
    const versions = page.getByRole('region', { name: studio.lineage });
    await versions.getByRole('link', { name: 'A harbour at noon' }).click();
    await page.waitForURL(/\/videos\/task_/);
    await versions.getByText(studio.versions.edit).waitFor();
    await versions.getByRole('link', { name: 'Make it night' }).waitFor();
    await assertAccessible(page, 'a video with versions');

    await page.getByRole('button', { name: studio.operations.extend, exact: true }).click();
    await page.waitForURL(/\/studio/);
    await waitForExpression(page, `document.querySelector('input[value=extend]')?.checked === true`);
    assert.equal(await page.locator('#prompt').inputValue(), 'A harbour at noon');
    await page.getByRole('button', { name: price }).click();
    await page.getByText(studio.madeFrom.extend).waitFor();
    const children = await person.ok<{ task_id: string; prompt: string }[]>('GET', '/api/videos');
    const source = children.at(-1)?.task_id;
    const { children: made } = await person.ok<{ children: { operation: string }[] }>('GET', `/api/videos/${source}`);
    assert.deepEqual(
      made.map(({ operation }) => operation),
      ['extend', 'edit'],
    );
    await page.context().close();
  });

  it('makes a film: a character, a still, two extensions and an edit, with all versions linked, and downloads it', async () => {
    const { page, person } = await open('filmmaker', { width: 1440, height: 900 });
    let spent = 0;
    /** Generates for the price on the button; returns the article of the finished video. */
    const make = async (prompt: string) => {
      await page.locator('#prompt').fill(prompt);
      const button = page.getByRole('button', { name: price });
      await button.waitFor();
      spent += Number(/[\d.]+(?= credits)/.exec((await button.textContent()) ?? '')?.[0]);
      await button.click();
      const stage = page.locator('#stage').getByRole('article', { name: prompt });
      await stage.locator('video[controls]').waitFor();
      return stage;
    };
    const start = async (stage: Locator, operation: 'edit' | 'extend') => {
      await stage.getByRole('button', { name: studio.operations[operation], exact: true }).click();
      await waitForExpression(page, `document.querySelector('input[value=${operation}]')?.checked === true`);
      assert.deepEqual(await rolesOf(page), ['source']);
    };
    await page.goto('/studio?model=kling-v3-omni');
    await dropImages(page, ['fox.png']);
    await role(page, 'fox.png').selectOption('reference');
    await make('The fox waits at a crossing');
    await page.getByRole('button', { name: named(studio.removeInput, 'fox.png') }).click();
    await dropImages(page, ['still.png']);
    await role(page, 'still.png').waitFor();
    assert.deepEqual(await rolesOf(page), ['first_frame']);
    const opening = await make('Rain begins');
    await start(opening, 'extend');
    const second = await make('The fox crosses the street');
    await start(second, 'extend');
    const third = await make('It looks back once');
    await start(third, 'edit');
    const last = await make('Make it night');
    const { used_quota: used } = await person.ok<{ used_quota: number }>('GET', '/api/user/self');
    // Each of the five prices is shown to a hundredth.
    assert.ok(Math.abs(used / 500_000 - spent) <= 0.025, `${used}, ${spent}`);

    await last.getByRole('link', { name: studio.open }).click();
    await page.getByRole('heading', { level: 1, name: 'Make it night' }).waitFor();
    await waitForExpression(page, `document.querySelector('video')?.duration > 0`);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: studio.download, exact: true }).click(),
    ]);
    assert.equal(download.suggestedFilename(), 'make-it-night.mp4');
    const types = boxTypesOf(readFileSync(await download.path()));
    assert.deepEqual([types[0], types.includes('moov'), types.includes('mdat')], ['ftyp', true, true]);

    const versions = page.getByRole('region', { name: studio.lineage });
    for (const [label, parent, child] of [
      [studio.madeFrom.edit, 'It looks back once', 'Make it night'],
      [studio.madeFrom.extend, 'The fox crosses the street', 'It looks back once'],
      [studio.madeFrom.extend, 'Rain begins', 'The fox crosses the street'],
    ] as const) {
      await versions.getByText(label).waitFor();
      await versions.getByRole('link', { name: parent }).click();
      await page.getByRole('heading', { level: 1, name: parent }).waitFor();
      await versions.getByRole('link', { name: child }).waitFor();
    }
    await page.getByRole('link', { name: studio.seeAll }).click();
    await page.getByRole('article').nth(4).waitFor();
    const card = page.getByRole('article', { name: 'Make it night' });
    await card.getByRole('link', { name: `${studio.madeFrom.edit}: It looks back once` }).waitFor();
    await page.context().close();
  });

  it('sends a file again after the sign-in', async () => {
    const { page } = await open('keeper');
    await page.goto('/files');
    await page.getByText(files.emptyTitle).waitFor();
    await page.evaluate(`{
      const form = document.body.appendChild(document.createElement('form'));
      form.appendChild(document.createElement('input')).dispatchEvent(new Event('input', { bubbles: true }));
    }`);
    await page.context().clearCookies();
    await page
      .locator('input[type=file]')
      .first()
      .setInputFiles([
        { name: 'lines.jsonl', mimeType: 'application/jsonl', buffer: Buffer.from('{"custom_id":"a"}\n') },
      ]);
    const over = page.getByRole('dialog', { name: STRINGS.en.signIn.signIn.title });
    await over.locator('input[autocomplete^=username]').fill('keeper');
    await over.locator('input[autocomplete=current-password]').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByText('lines.jsonl').first().waitFor();
    await page.context().close();
  });

  it('uploads, previews, uses and deletes files on their own page', async () => {
    const { page, person } = await open('archivist');
    await page.goto('/files');
    await page.getByText(files.emptyTitle).waitFor();
    await assertAccessible(page, 'no files');
    const input = page.locator('input[type=file]').first();
    await input.setInputFiles([
      { name: 'cat.png', mimeType: 'image/png', buffer: IMAGE },
      { name: 'lines.jsonl', mimeType: 'application/jsonl', buffer: Buffer.from('{"custom_id":"a"}\n') },
    ]);
    await page.getByRole('button', { name: named(files.preview, 'cat.png') }).waitFor();
    await page.getByText('KiB of 5 GiB').or(page.getByText('B of 5 GiB')).first().waitFor();
    await assertAccessible(page, 'files');
    await page.getByRole('button', { name: named(files.preview, 'cat.png') }).click();
    await waitForExpression(page, `document.querySelector('.file-preview')?.naturalWidth === 64`);
    await assertAccessible(page, 'preview of a file');
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: files.use }).click();
    await role(page, 'cat.png').waitFor();
    assert.deepEqual(await rolesOf(page), ['first_frame']);

    await page.getByRole('button', { name: studio.pick }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'cat.png' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal(((await namesOf(page)) as string[]).length, 2, 'the same file can be used twice');

    await page.goto('/files');
    await page.getByRole('button', { name: named(files.deleteFile, 'cat.png') }).click();
    await page.getByRole('dialog').getByRole('button', { name: files.delete }).click();
    await page.getByText(named(files.deleted, 'cat.png')).waitFor();
    const left = await person.ok<{ data: { filename: string }[] }>('GET', '/api/files');
    assert.deepEqual(
      left.data.map(({ filename }) => filename),
      ['lines.jsonl'],
    );
    await page.context().close();
  });

  it('shows files with long names on a phone, as cards and in the studio, in Chinese', async () => {
    const zh = STRINGS['zh-cn'].files;
    const name = 'the-last-frame-of-a-film-about-a-lighthouse-in-winter.png';
    const { page } = await open('traveller', { width: 390, height: 844, language: 'zh-cn', scheme: 'dark' });
    await page.goto('/files');
    await page
      .locator('input[type=file]')
      .first()
      .setInputFiles([{ name, mimeType: 'image/png', buffer: IMAGE }]);
    await page.getByRole('list', { name: zh.title }).getByText(name).first().waitFor();
    await assertAccessible(page, 'files on a phone');
    assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), 'nothing is cut off');
    await page.getByRole('link', { name: zh.use }).click();
    await page.locator('.input-row').waitFor();
    assert.ok(await page.evaluate(`document.querySelector('.input-row').getBoundingClientRect().right <= innerWidth`));
    await page.context().close();
  });

  it('shows the result after a submit on a phone, and keeps the focus on the button', async () => {
    const { page } = await open('walker', { width: 390, height: 844 });
    await page.goto('/studio?model=kling-v1');
    await page.locator('#prompt').fill('A lighthouse');
    await page.getByRole('button', { name: price }).click();
    await waitForExpression(page, `document.getElementById('stage')?.getBoundingClientRect().top < innerHeight / 2`);
    assert.equal(await page.evaluate('document.activeElement.id'), 'generate');
    await page.getByRole('article', { name: 'A lighthouse' }).waitFor();
    await page.getByRole('button', { name: studio.toPrompt }).click();
    await waitForExpression(page, `document.activeElement.id === 'prompt' && scrollY < 400`);
    await page.context().close();
  });

  it('keeps the bar low, and a focused field visible above it', async () => {
    const { page } = await open('typist', { width: 1000, height: 700 });
    await page.goto('/studio?model=kling-v1-6');
    await page.locator('#prompt').fill('A lighthouse');
    await page.getByRole('button', { name: price }).waitFor();
    const bar = await page.locator('.run-bar').boundingBox();
    assert.ok((bar?.height ?? 999) <= 90, `${bar?.height} px`);
    await page.getByRole('button', { name: studio.advanced }).focus();
    const [field, top] = await Promise.all([
      page.getByRole('button', { name: studio.advanced }).boundingBox(),
      page.locator('.run-bar').boundingBox(),
    ]);
    assert.ok((field?.y ?? 0) + (field?.height ?? 0) <= (top?.y ?? 0) + 1, 'the bar does not cover the field');
    await page.context().close();
  });

  it('lists the shortcuts of a page on "?", and switches those without a modifier off, here or in the profile', async () => {
    const { shortcuts } = STRINGS.en;
    const { page } = await open('speaker');
    const list = page.getByRole('dialog', { name: shortcuts.title });
    /** The labels of the list on a page, which Escape closes again. */
    const openList = async (path: string): Promise<string> => {
      await page.goto(path);
      await waitForContent(page);
      await page.locator('h1').click();
      await page.keyboard.press('?');
      await list.getByText(shortcuts.search).waitFor();
      return (await list.textContent()) ?? '';
    };
    const close = async (): Promise<void> => {
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    };
    const isInert = async (key: string): Promise<void> => {
      await page.locator('h1').click();
      await page.keyboard.press(key);
      await page.waitForTimeout(300);
      assert.equal(await page.getByRole('dialog').count(), 0);
    };
    for (const [path, own, other] of [
      ['/tickets', shortcuts.send, shortcuts.model],
      ['/playground', shortcuts.newLine, shortcuts.submit],
      ['/account/tokens', shortcuts.list, shortcuts.send],
    ] as const) {
      const text = await openList(path);
      assert.ok(text.includes(own) && !text.includes(other), `${path}: ${text}`);
      await close();
    }
    assert.ok((await openList('/studio')).includes(shortcuts.vary));
    await assertAccessible(page, 'shortcuts');
    await page.getByRole('switch', { name: shortcuts.single }).click();
    await close();
    await isInert('m');
    await isInert('?');
    await page.goto('/account/profile');
    await page.getByRole('switch', { name: shortcuts.single, checked: false }).click();
    await openList('/studio');
    await page.context().close();
  });

  it('labels the keys of a Mac', async () => {
    const { page } = await open('apple');
    await page.addInitScript("Object.defineProperty(navigator, 'platform', { get: () => 'MacIntel' })");
    await page.goto('/studio');
    await waitForContent(page);
    await page.getByRole('button', { name: /⌘ K/ }).waitFor();
    assert.match((await page.locator('.run-keys').textContent()) ?? '', /^⌘ Enter$/);
    assert.doesNotMatch((await page.locator('body').textContent()) ?? '', /Ctrl/);
    await page.context().close();
  });

  it('violates no content security policy, sends no request to other origins and throws no error', () => {
    assert.deepEqual(fixture.problems, { violations: [], dialogs: [], errors: [], foreignRequests: [] });
  });
});
