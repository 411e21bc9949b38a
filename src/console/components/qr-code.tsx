import { Box } from '@mantine/core';
import { encode } from 'uqr';

/** A QR code drawn as one path: dark on white in every appearance, since readers expect that. */
export function QrCode({
  text,
  label,
  size = 196,
}: {
  readonly text: string;
  readonly label: string;
  readonly size?: number;
}) {
  const { data, size: cells } = encode(text, { border: 2 });
  const path = data.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : ''))).join('');
  return (
    <Box bg="white" p={4} w={size + 8} style={{ borderRadius: 10 }}>
      <svg
        width={size}
        height={size}
        viewBox={`0 0 ${cells} ${cells}`}
        role="img"
        aria-label={label}
        shapeRendering="crispEdges"
      >
        <path d={path} fill="#000" />
      </svg>
    </Box>
  );
}
