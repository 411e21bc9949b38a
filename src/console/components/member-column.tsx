import { useTranslation } from 'react-i18next';
import { readOrganization } from '../data/browser-storage.ts';
import type { Column } from './data-table.tsx';

/** Column with the member who created a row, while the console works for an organization; none for the own account. */
export function useMemberColumn<Row>(memberOf: (row: Row) => string | undefined): readonly Column<Row>[] {
  const { t } = useTranslation();
  return readOrganization() === undefined ? [] : [{ label: t('member'), cell: (row) => memberOf(row) || '–' }];
}
