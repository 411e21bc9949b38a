import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  ALL_ACCEPTED,
  ALL_REFUSED,
  imapClient,
  sendAndRead,
  smtpClient,
  tryLogins,
} from '../../../test/mail-clients.ts';
import { type SandboxMail, startSandboxMail } from './mail-server.ts';

const alice = { user: 'alice@mail.test', pass: 'her password' };

describe('mail server of the sandbox', () => {
  let mail: SandboxMail;
  let down = false;
  before(async () => {
    mail = await startSandboxMail({
      domain: 'mail.test',
      authenticate: async (address, password, protocol) => {
        if (down) return undefined;
        return address === alice.user && (password === alice.pass || password === `only ${protocol}`);
      },
      mailboxExists: async (address) => address === alice.user || address === 'bob@mail.test',
    });
  });
  after(() => mail.close());

  it('accepts the right password in every protocol and a wrong one in none', async () => {
    assert.deepEqual(await tryLogins(mail, alice), ALL_ACCEPTED);
    assert.deepEqual(await tryLogins(mail, { ...alice, user: 'Alice@Mail.Test' }), ALL_ACCEPTED);
    assert.deepEqual(await tryLogins(mail, { ...alice, pass: 'wrong' }), ALL_REFUSED);
    assert.deepEqual(await tryLogins(mail, { ...alice, pass: 'only pop3' }), { ...ALL_REFUSED, pop3: 'in' });
  });

  it('distinguishes a temporary failure from a rejected login', async () => {
    down = true;
    assert.deepEqual(await tryLogins(mail, alice), { imap: 'later', pop3: 'later', smtp: 'later' });
    down = false;
  });

  it('carries a message from SMTP to IMAP and POP3', async () => {
    const read = await sendAndRead(mail, alice, 'First light', 'Hello there.\n.dots stay\n');
    assert.equal(read.imap.replaceAll('\r', ''), 'Hello there.\n.dots stay');
    // node-pop3 does not remove the stuffed dot.
    assert.match(read.pop3, /\r\n\.?\.dots stay\r\n/);
  });

  it('refuses foreign senders, unauthenticated clients and unknown mailboxes', async () => {
    const client = smtpClient(mail, alice);
    const send = (from: string, to: string) => client.sendMail({ from, to, text: 'x' });
    await assert.rejects(send('bob@mail.test', alice.user), { responseCode: 553 });
    await assert.rejects(send(alice.user, 'someone@elsewhere.test'), { responseCode: 550 });
    await assert.rejects(send(alice.user, 'nobody@mail.test'), { responseCode: 550 });
    client.close();
  });

  it('supports folders, flags and moves as mail programs expect', async () => {
    const client = imapClient(mail, alice);
    await client.connect();
    const folders = await client.list();
    assert.deepEqual(folders.map((folder) => folder.specialUse ?? folder.path).sort(), [
      '\\Drafts',
      '\\Inbox',
      '\\Junk',
      '\\Sent',
      '\\Trash',
    ]);
    await client.append('Drafts', Buffer.from('Subject: draft\r\n\r\nbody\r\n'), ['\\Draft']);
    const lock = await client.getMailboxLock('Drafts');
    const [uid] = (await client.search({ header: { subject: 'draft' } }, { uid: true })) || [];
    assert.ok(uid !== undefined);
    await client.messageFlagsAdd(`${uid}`, ['\\Flagged'], { uid: true });
    const message = await client.fetchOne(`${uid}`, { flags: true }, { uid: true });
    assert.deepEqual(message && [...(message.flags ?? [])].sort(), ['\\Draft', '\\Flagged']);
    await client.messageMove(`${uid}`, 'Trash', { uid: true });
    assert.deepEqual(await client.search({ all: true }), []);
    lock.release();
    const trash = await client.status('Trash', { messages: true });
    assert.equal((trash || undefined)?.messages, 1);
    await client.logout();
  });

  it('closes the open sessions of an address', async () => {
    const client = imapClient(mail, alice);
    await client.connect();
    const closed = new Promise((resolve) => client.on('close', () => resolve(true)));
    mail.disconnect('bob@mail.test');
    await client.noop();
    mail.disconnect(alice.user);
    assert.equal(await closed, true);
  });

  it('survives invalid input', async () => {
    const { connect } = await import('node:tls');
    for (const port of Object.values(mail.ports)) {
      for (const junk of ['\0\0\r\n', 'a LOGIN (((((\r\n', 'a APPEND INBOX {99999999999}\r\n', 'x'.repeat(100_000)]) {
        await new Promise((resolve) => {
          const socket = connect({ port, host: '127.0.0.1', ca: mail.ca }, () => socket.end(junk));
          socket
            .on('close', resolve)
            .on('error', () => socket.destroy())
            .resume();
        });
      }
    }
    assert.deepEqual(await tryLogins(mail, alice), ALL_ACCEPTED);
  });
});
