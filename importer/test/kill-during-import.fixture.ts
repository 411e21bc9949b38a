import { openDatabase } from '../../src/server/platform/db/open-database.ts';
import type { Tables } from '../../src/server/tables.ts';
import { makeTestImporter, requestFor } from './imported-rows.ts';

/**
 * Imports in a separate process that kills itself at the end of a page, before or after its commit, as its arguments
 * say.
 */
const [url = '', from = '', generation = '', page = '0', moment = 'before'] = process.argv.slice(2);
let pages = 0;
const die = (): void => {
  process.kill(process.pid, 'SIGKILL');
};
const database = openDatabase<Tables>(url);
await makeTestImporter(database, {
  onPage() {
    if (++pages < Number(page)) return;
    if (moment === 'before') die();
    else setTimeout(die, Number(moment));
  },
}).apply(requestFor(from, generation));
await database.close();
