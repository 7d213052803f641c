// Keeps what is chosen so far, so that a reload or a closed lid loses nothing. Everything also works without it.
const form = document.getElementById("item");
if (form) {
  const kept = document.getElementById("kept");
  form.addEventListener("change", async () => {
    kept.textContent = "keeping …";
    try {
      const answer = await fetch("/draft", { method: "POST", body: new URLSearchParams(new FormData(form)) });
      kept.textContent = answer.ok ? "kept" : "not kept: open your link again";
    } catch {
      kept.textContent = "not kept: no connection";
    }
  });
}
