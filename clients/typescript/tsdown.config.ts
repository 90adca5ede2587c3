import { defineConfig } from "tsdown";

// tsdown builds both module formats and their declarations from one entry, and follows Rolldown, which Vite stands
// on. Its releases from 0.22 on need Node 22; what runs this build is the oldest Node that the package runs on.
export default defineConfig({
  entry: ["src/index.ts", "src/otel.ts"],
  format: ["esm", "cjs"],
  platform: "node",
  target: "node20",
  dts: true,
  tsconfig: "tsconfig.build.json",
  fixedExtension: false,
  hash: false,
});
