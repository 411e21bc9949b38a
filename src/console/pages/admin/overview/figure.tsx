import { Card, Skeleton, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { currentLanguage } from '../../../strings/language.ts';

interface FigureProps {
  readonly label: string;
  /** Undefined while it is fetched. */
  readonly value: number | string | undefined;
  readonly of?: number | undefined;
  readonly bad?: boolean;
  readonly to: string;
  readonly search?: Readonly<Record<string, string | boolean>>;
}

/** One number, and the list behind it. */
export function Figure({ label, value, of, bad = false, to, search }: FigureProps) {
  const text = typeof value === 'number' ? new Intl.NumberFormat(currentLanguage()).format(value) : value;
  return (
    <Card
      p="md"
      renderRoot={(props) => <Link to={to} {...(search === undefined ? {} : { search })} {...props} />}
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
          {...(bad ? { c: 'var(--mantine-color-error)' } : {})}
          style={{ fontVariantNumeric: 'tabular-nums' }}
        >
          {text}
          {of === undefined ? null : (
            <Text span c="dimmed" fz="sm" fw={400}>
              {` / ${of}`}
            </Text>
          )}
        </Text>
      )}
    </Card>
  );
}
