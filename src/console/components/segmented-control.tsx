import { Box, type BoxProps } from '@mantine/core';
import { useId } from 'react';

interface SegmentedControlProps<Value extends string> extends BoxProps {
  readonly data: readonly { readonly value: Value; readonly label: string }[];
  readonly value: string;
  readonly onChange: (value: Value) => void;
  readonly size?: 'xs' | 'sm';
  /** As wide as what it is in. */
  readonly fullWidth?: boolean;
  readonly 'aria-label'?: string;
  readonly 'aria-labelledby'?: string;
}

/**
 * A few values side by side, of which one is selected. The library's own measures where each value is before it marks one, which
 * lays out the page twice before it is first shown; this one is marked by style sheet.
 */
export function SegmentedControl<Value extends string>({
  data,
  value,
  onChange,
  size = 'sm',
  fullWidth,
  ...box
}: SegmentedControlProps<Value>) {
  const name = useId();
  return (
    <Box className="segmented" data-size={size} data-full={fullWidth || undefined} role="radiogroup" {...box}>
      {data.map((each) => (
        <label key={each.value}>
          <input
            type="radio"
            name={name}
            value={each.value}
            checked={each.value === value}
            onChange={() => onChange(each.value)}
          />
          <span>{each.label}</span>
        </label>
      ))}
    </Box>
  );
}
