import assert from 'node:assert/strict';
import { it } from 'node:test';
import { forEachDatabase } from '../for-each-database.ts';
import { HOSTILE_LOCAL_PARTS } from './hostile-local-parts.ts';
import { APPLY, MAILBOX, type MailboxRecord, startMailboxFixture } from './mailbox-fixture.ts';
import { startMailcow } from './mailcow-fixture.ts';

forEachDatabase((_name, open) => {
  it('refuses two hundred hostile local parts without a trace', async () => {
    assert.ok(new Set(HOSTILE_LOCAL_PARTS).size >= 200, String(new Set(HOSTILE_LOCAL_PARTS).size));
    const { sandbox, config } = await startMailcow();
    const service = await startMailboxFixture(await open(), { config });
    const person = await service.personWithPhone('ada');
    for (const local_part of HOSTILE_LOCAL_PARTS) {
      const answer = await person.send('POST', APPLY, { local_part });
      const shown = JSON.stringify(local_part.slice(0, 60));
      assert.ok(answer.status === 400 || answer.status === 200, `${shown}: ${answer.status}`);
      assert.deepEqual(Object.keys(answer.body).sort(), ['message', 'success'], shown);
      assert.equal(answer.body.success, false, shown);
      // Avoids the limit of five applications per hour, so that each refusal stands on its own.
      service.clock.advance(3_600_001);
    }
    assert.deepEqual(await service.database.kysely.selectFrom('mailboxes').selectAll().execute(), []);
    assert.deepEqual(sandbox.control.requests(), []);
    assert.equal((await person.ok<MailboxRecord>('GET', MAILBOX)).has_mailbox, false);
    assert.equal((await person.ok<{ email: string }>('POST', APPLY, { local_part: 'ada' })).email, 'ada@mail.test');
    await service.close();
    await sandbox.stop();
  });
});
