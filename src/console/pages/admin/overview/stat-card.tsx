import { Card, Skeleton, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { currentLanguage } from '../../../strings/init-and-change-language.ts';

interface StatCardProps {
  readonly label: string;
  /** Undefined while it is fetched. */
  readonly value: number | string | undefined;
  readonly total?: number | undefined;
  readonly alert?: boolean;
  readonly to: string;
  readonly search?: Readonly<Record<string, string | boolean>>;
}

/** One number, as a link to the list it counts. */
export function StatCard({ label, value, total, alert = false, to, search }: StatCardProps) {
  const text = typeof value === 'number' ? new Intl.NumberFormat(currentLanguage()).format(value) : value;
  return (
    <Card
      p="md"
      renderRoot={(props) => <Link to={to} search={search} {...props} />}
      style={{ textDecoration: 'none', color: 'inherit' }}
    >
      <Text size="xs" c="dimmed">
        {label}
      </Text>
      {text === undefined ? (
        <Skeleton h={28} w={90} mt={5} />
      ) : (
        <Text
          fz={{ base: 19, sm: 22 }}
          lh="33px"
          fw={650}
          c={alert ? 'var(--mantine-color-error)' : undefined}
          style={{ fontVariantNumeric: 'tabular-nums' }}
        >
          {text}
          {total === undefined ? null : (
            <Text span c="dimmed" fz="sm" fw={400}>
              {` / ${total}`}
            </Text>
          )}
        </Text>
      )}
    </Card>
  );
}
