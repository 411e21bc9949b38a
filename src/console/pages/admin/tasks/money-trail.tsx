import { Table, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { toMoment } from '../../../data/time.ts';
import { useQuota } from '../../../parts/quota.tsx';
import { Amount } from '../ledger/amount.tsx';
import type { Task } from './task-page.tsx';

/** What was reserved, settled and given back, from the ledger itself. */
export function MoneyTrail({ money }: { readonly money: Task['money'] }) {
  const { t } = useTranslation('admin');
  const quota = useQuota();
  if (money.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {t('tasks.noMoney')}
      </Text>
    );
  const wallet = money.reduce((sum, { amount }) => sum + amount, 0);
  const plan = money.reduce((sum, { plan_amount: amount }) => sum + amount, 0);
  return (
    <>
      <Table verticalSpacing="xs" horizontalSpacing={4} aria-label={t('tasks.money')}>
        <Table.Tbody>
          {money.map(({ time, kind, amount, plan_amount: planAmount }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a ledger only grows at its end
            <Table.Tr key={index}>
              <Table.Td>
                <Text size="sm">{t(`ledger.kinds.${kind}` as 'ledger.kinds.reserve')}</Text>
                <Text size="xs" c="dimmed">
                  {toMoment(time)}
                </Text>
              </Table.Td>
              <Table.Td ta="right">
                <Amount value={amount} />
                {planAmount === 0 ? null : (
                  <Text size="xs" c="dimmed">
                    {t('tasks.ofPlan')} <Amount value={planAmount} />
                  </Text>
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Text size="sm" fw={600} mt="sm">
        {wallet + plan === 0 ? t('tasks.nothingPaid') : t('tasks.paid', { amount: quota(-(wallet + plan)) })}
      </Text>
    </>
  );
}
